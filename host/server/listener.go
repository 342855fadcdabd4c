package server

import (
	"net"
	"sync"
)

// limitedListener accepts so many connections at a time; further ones wait with the
// system.
type limitedListener struct {
	net.Listener
	places chan struct{}
}

// Accept implements net.Listener. When the listener is closed, so are connections, and
// places come free.
func (l *limitedListener) Accept() (net.Conn, error) {
	l.places <- struct{}{}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.places
		return nil, err
	}
	return &limitedConn{Conn: c, places: l.places}, nil
}

// limitedConn gives its place back when it is closed, once.
type limitedConn struct {
	net.Conn
	places chan struct{}
	once   sync.Once
}

// Close implements net.Conn.
func (c *limitedConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { <-c.places })
	return err
}
