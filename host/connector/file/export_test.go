package file

// Kill ends a sink as the end of its process would: nothing is tidied up, and the
// system closes the file.
func (s *Sink) Kill() {
	s.file.Close()
	s.file = nil
}

// Kill ends a sink as the end of its process would.
func (s *Rolling) Kill() {
	if s.file != nil {
		s.file.Close()
		s.file = nil
	}
	s.lock.Close()
}
