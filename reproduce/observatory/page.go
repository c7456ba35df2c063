package main

func (o *observatory) writePage(path string, rows []row) error { return nil }
