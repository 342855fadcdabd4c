package main

import "testing"

func TestClockRingsTheLastAlarmOnly(t *testing.T) {
	c := newWallClock()
	rung := make(chan int, 3)
	for i := range 3 {
		c.Alarm(c.Now()+50, func() { rung <- i })
	}
	if first := <-rung; first != 2 {
		t.Errorf("alarm %d rang, want 2", first)
	}
	at := c.Now() + 50
	c.Alarm(at, func() { rung <- 3 })
	c.Alarm(0, nil)
	later, other := make(chan struct{}), newWallClock()
	other.Alarm(at+50, func() { close(later) })
	<-later
	select {
	case i := <-rung:
		t.Errorf("alarm %d rang", i)
	default:
	}
	if now := c.Now(); now < at || now > at+10_000 {
		t.Errorf("it is %d, and %d should be a little ago", now, at)
	}
	c.Alarm(at, func() { rung <- 4 }) // in the past: at once
	<-rung
}
