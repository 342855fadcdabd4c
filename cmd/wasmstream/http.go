package main

import (
	"hash/fnv"

	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/connector/http"
	"github.com/wasmstream/wasmstream/host/job"
)

// httpAsker answers the requests of an enrichment. The random part of its waiting times
// follows from the step's name and when the run began.
func httpAsker(e *Env, s *job.Step) (connector.Asker, error) {
	h := &s.Enrich.HTTP
	seed := fnv.New64a()
	seed.Write([]byte(s.Name))
	return http.New(http.Options{
		Allow: h.Allow, Private: h.Private, InFlight: h.InFlight, Timeout: h.Timeout, AttemptTimeout: h.AttemptTimeout,
		Retry: http.Retry{Attempts: h.Attempts, Statuses: h.Statuses, Backoff: h.Backoff, BackoffMax: h.BackoffMax, Budget: h.Budget},
		Rate:  h.Rate, BodyBytesMax: h.AnswerBytesMax, CacheTTL: h.CacheTTL, CacheBytes: h.CacheBytes, Seed: seed.Sum64() ^ uint64(e.Clock.Now()),
	})
}
