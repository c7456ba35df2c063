// An extension of JupyterLab as its builder would write it, by hand.
//
// A notebook asks for its kernel as soon as it is open. Cells that are run before
// there is an answer make JupyterLab ask a second time: depending on the moment it
// opens a dialog, or leaves the cells unrun in silence. Here they wait for the kernel
// of the first request.
(function () {
  "use strict";
  var plugin = {
    id: "probode:wait-for-kernel",
    autoStart: true,
    activate: function (app) {
      var execute = app.commands.execute.bind(app.commands);
      app.commands.execute = function (id, args) {
        var context = app.shell.currentWidget && app.shell.currentWidget.sessionContext;
        if (!/^(notebook|runmenu|toolbar-button):run/.test(id) || !context || context.isReady || context.session) {
          return execute(id, args);
        }
        return context.ready.then(function () { return execute(id, args); });
      };
    }
  };
  window._JUPYTERLAB = window._JUPYTERLAB || {};
  window._JUPYTERLAB.probode = {
    init: function () { },
    get: function () {
      return Promise.resolve(function () { return {__esModule: true, default: plugin}; });
    }
  };
})();
