package certify

var Information = information
