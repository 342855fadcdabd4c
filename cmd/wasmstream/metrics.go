package main

import (
	"fmt"

	"github.com/wasmstream/wasmstream/host/server"
)

// serve lets others watch the run, if an address is named.
func (r *jobRun) serve(address string) (err error) {
	if address == "" {
		return nil
	}
	o := server.Options{Address: address, Job: r.plan.Name, Clock: r.env.Clock, Log: r.env.Log}
	if c := r.plan.Checkpoint; c != nil {
		o.CheckpointInterval = c.Interval
	}
	if r.server, err = server.Listen(o); err != nil {
		return &exitError{exitBadInput, fmt.Errorf("--metrics: %w", err)}
	}
	url := "http://" + r.server.Address() + "/metrics"
	if r.env.StderrTerminal {
		r.screen.printf("metrics: %s\n", url)
	} else {
		r.env.Log.Info("metrics are served", "job", r.plan.Name, "url", url)
	}
	return nil
}
