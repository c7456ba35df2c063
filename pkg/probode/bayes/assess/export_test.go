package assess

var Information = information
