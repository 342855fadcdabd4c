package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/wasmstream/wasmstream/host/stream"
)

// Options are what a server needs to know.
type Options struct {
	Address string // host:port; with port 0 any that is free
	Job     string // its name
	// CheckpointInterval is how often the job takes checkpoints; 0: not by itself.
	CheckpointInterval time.Duration
	Clock              stream.Clock
	Log                *slog.Logger
}

// The limits of what the outside may do.
const (
	connectionsMax     = 64
	headerBytesMax     = 16 << 10
	headerTimeout      = 5 * time.Second
	requestTimeout     = 10 * time.Second
	answerTimeout      = 30 * time.Second
	connectionIdleTime = 2 * time.Minute
	scrapesMax         = 4 // under way at once
	closeTimeout       = time.Second
)

// Server answers until it is closed. A nil Server watches nothing.
type Server struct {
	*watch
	listener net.Listener
	http     *http.Server
	ended    chan struct{} // closed when Serve has returned
}

// Listen starts a server. What it is asked before the first Running it answers as well.
func Listen(o Options) (*Server, error) {
	if err := checkAddress(o.Address); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", o.Address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w", o.Address, cause(err))
	}
	s := &Server{watch: newWatch(&o), listener: listener, ended: make(chan struct{})}
	s.http = &http.Server{
		Handler: s.handler(&o), ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
		ReadHeaderTimeout: headerTimeout, ReadTimeout: requestTimeout, WriteTimeout: answerTimeout,
		IdleTimeout: connectionIdleTime, MaxHeaderBytes: headerBytesMax,
	}
	go func() {
		defer close(s.ended)
		err := s.http.Serve(&limitedListener{listener, make(chan struct{}, connectionsMax)})
		if !errors.Is(err, http.ErrServerClosed) {
			o.Log.Error("metrics are not served any more", "error", err)
		}
	}()
	return s, nil
}

// checkAddress says what an address is like if this is none.
func checkAddress(address string) error {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return fmt.Errorf("%q is no address: %w; it is host:port, such as 127.0.0.1:9249, or :9249 for all of the machine's addresses", address, cause(err))
	}
	return nil
}

// cause is the innermost part of an error of the network: those around it name the
// address once more.
func cause(err error) error {
	var address *net.AddrError
	if errors.As(err, &address) {
		return errors.New(address.Err)
	}
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// Address is where the server listens.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Close ends the server. Answers under way have a moment to end.
func (s *Server) Close() error {
	if s == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.http.Close()
	}
	<-s.ended
	return err
}

func (s *Server) handler(o *Options) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(s.watch, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelWarn), ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: scrapesMax,
	}))
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, s.health()) })
	mux.HandleFunc("GET /ready", func(w http.ResponseWriter, _ *http.Request) {
		if reason := s.unready(); reason != "" {
			answer(w, http.StatusServiceUnavailable, reason)
			return
		}
		answer(w, http.StatusOK, "ready")
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, "job "+o.Job+"\n\n/metrics\n/health\n/ready")
	})
	return mux
}

func answer(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n") // who does not wait for the answer is not told
}
