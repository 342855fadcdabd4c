package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

var codecs = map[string]kgo.CompressionCodec{
	"":       kgo.NoCompression(),
	"none":   kgo.NoCompression(),
	"gzip":   kgo.GzipCompression(),
	"snappy": kgo.SnappyCompression(),
	"lz4":    kgo.Lz4Compression(),
	"zstd":   kgo.ZstdCompression(),
}

// options are what all clients of a connection have in common.
func (c *Connection) options() ([]kgo.Opt, error) {
	opts := []kgo.Opt{
		kgo.SeedBrokers(c.Brokers...),
		kgo.ClientID("wasmstream"),
		kgo.SoftwareNameAndVersion("wasmstream", "0"),
		kgo.DisableClientMetrics(),
		kgo.RequestRetries(3), // who asks tries again, and tells
		kgo.MetadataMinAge(100 * time.Millisecond),
		kgo.RetryBackoffFn(func(tries int) time.Duration { return backoff(tries) }),
	}
	if c.Logger != nil {
		opts = append(opts, kgo.WithLogger(inner{c.Logger}))
	}
	if c.Dialer != nil {
		dial := c.Dialer
		if c.TLS != nil {
			var err error
			if dial, err = c.TLS.over(dial); err != nil {
				return nil, err
			}
		}
		opts = append(opts, kgo.Dialer(dial))
	} else if c.TLS != nil {
		config, err := c.TLS.config()
		if err != nil {
			return nil, err
		}
		opts = append(opts, kgo.DialTLSConfig(config))
	}
	if s := c.SASL; s != nil {
		switch s.Mechanism {
		case Plain:
			opts = append(opts, kgo.SASL(plain.Auth{User: s.User, Pass: s.Password}.AsMechanism()))
		case ScramSHA256:
			opts = append(opts, kgo.SASL(scram.Auth{User: s.User, Pass: s.Password}.AsSha256Mechanism()))
		case ScramSHA512:
			opts = append(opts, kgo.SASL(scram.Auth{User: s.User, Pass: s.Password}.AsSha512Mechanism()))
		}
	}
	return opts, nil
}

// inner tells what the client does, to who wants to know it: its warnings are of what
// it deals with, and what it cannot deal with is returned.
type inner struct{ log *slog.Logger }

// Level implements kgo.Logger.
func (l inner) Level() kgo.LogLevel {
	if l.log.Enabled(context.Background(), slog.LevelDebug) {
		return kgo.LogLevelInfo
	}
	return kgo.LogLevelNone
}

// Log implements kgo.Logger.
func (l inner) Log(_ kgo.LogLevel, message string, values ...any) {
	l.log.Debug("kafka client: "+message, values...)
}

// over encrypts what a dialer opens.
func (t *TLS) over(dial Dialer) (Dialer, error) {
	config, err := t.config()
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		plain, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		c := config.Clone()
		if c.ServerName == "" {
			c.ServerName, _, _ = net.SplitHostPort(address)
		}
		conn := tls.Client(plain, c)
		if err := conn.HandshakeContext(ctx); err != nil {
			return nil, errors.Join(err, plain.Close())
		}
		return conn, nil
	}, nil
}

func (t *TLS) config() (*tls.Config, error) {
	config := &tls.Config{ServerName: t.ServerName, MinVersion: tls.VersionTLS12}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("tls: cannot read the authorities: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("tls: %s holds no certificate in PEM", t.CAFile)
		}
	}
	if t.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("tls: cannot use %s with %s: %w", t.CertFile, t.KeyFile, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

func (c *Connection) connectTimeout() time.Duration {
	if c.ConnectTimeout == 0 {
		return defaultConnectTimeout
	}
	return c.ConnectTimeout
}

func (c *Connection) logger() *slog.Logger {
	if c.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return c.Logger
}

// unreachable says that no broker answered, and why that may be.
func (c *Connection) unreachable(err error) error {
	hint := ""
	if errors.Is(err, io.EOF) {
		hint = " (it closes the connection: it may want TLS, or not accept the user)"
	}
	return fmt.Errorf("no broker of %s answers: %w%s", strings.Join(c.Brokers, ", "), err, hint)
}

// telling chooses which of two failures in a row is told: the later one, unless all it
// says is that time ran out. The network's own timer may ring before the context's.
func telling(before, now error) error {
	if before != nil && (errors.Is(now, context.DeadlineExceeded) || errors.Is(now, os.ErrDeadlineExceeded)) {
		return before
	}
	return now
}

// backoff is how long to wait after a number of failures in a row.
func backoff(failures int) time.Duration {
	return 50 * time.Millisecond << min(failures, 4)
}

// wait lasts until the duration is over or the context ends; it says whether the
// context goes on.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// teller logs the first of events that repeat, and then one in tellEvery.
type teller struct {
	log  *slog.Logger
	last time.Time
	held int
}

const tellEvery = 10 * time.Second

func (t *teller) warn(message string, args ...any) {
	if now := time.Now(); now.Sub(t.last) >= tellEvery {
		t.log.Warn(message, append(args, "times", t.held+1)...)
		t.last, t.held = now, 0
		return
	}
	t.held++
}

// passing says whether an error may be gone when what failed is tried again: the
// broker is away, is starting, or is no longer the right one.
func passing(err error) bool {
	var code *kerr.Error
	if errors.As(err, &code) {
		return code.Retriable || errors.Is(err, kerr.UnknownServerError) || errors.Is(err, kerr.ConcurrentTransactions)
	}
	var topic *TopicError
	var certificate *tls.CertificateVerificationError
	return !errors.As(err, &topic) && !errors.Is(err, context.Canceled) && !errors.Is(err, kgo.ErrClientClosed) && !errors.As(err, &certificate)
}
