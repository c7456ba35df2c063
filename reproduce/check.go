package main

func (s *study) check() error { return nil }
