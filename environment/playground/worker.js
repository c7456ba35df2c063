// The worker of the live figures: wasm_exec.js of Go stands before this text. The first
// message is the compiled module. Every later one is a question to the program of
// pkg/viz/playground/wasm, and is answered before the worker returns to its event loop.
let ready, program;
self.onmessage = (event) => {
  if (event.data instanceof WebAssembly.Module) {
    const go = new Go();
    ready = WebAssembly.instantiate(event.data, go.importObject).then((instance) => {
      program = instance;
      go.run(instance).then(() => self.postMessage(JSON.stringify({ended: true})));
    });
    ready.then(() => self.postMessage(JSON.stringify({ready: true})));
    return;
  }
  ready.then(() => self.postMessage(self.probodeAnswer(event.data)));
};
