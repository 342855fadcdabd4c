package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/connector/file"
	"github.com/wasmstream/wasmstream/host/connector/kafka"
	"github.com/wasmstream/wasmstream/host/format"
	"github.com/wasmstream/wasmstream/host/format/json"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
)

// readJob reads and checks a job file. Whatever is wrong with it is an exitError.
func readJob(e *Env, path string, m *modules) (*job.Job, error) {
	text, err := readJobText(path)
	if err != nil {
		return nil, &exitError{exitBadInput, &fileError{path, err}}
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, &exitError{exitBadInput, &fileError{path, err}}
	}
	m.job, m.options.MemoryPagesMax = path, memoryPagesMax
	plan, err := job.Parse(text, job.Options{
		File: path, Dir: filepath.Dir(absolute), Getenv: e.Getenv, Zone: time.LoadLocation, Manifest: m.Manifest, Open: m.Outputs,
	})
	if err != nil {
		code := exitBadInput
		if m.refused {
			code = exitRefused
		}
		return nil, &exitError{code, err}
	}
	if clashes := clashes(plan, path); len(clashes) > 0 {
		return nil, &exitError{exitBadInput, clashes}
	}
	return plan, nil
}

func readJobText(path string) ([]byte, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, notThere(err, path)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, job.TextBytesMax+1))
	return text, notThere(err, path)
}

// fileError is what is wrong with a file that the command line names.
type fileError struct {
	path string
	err  error
}

// Error names the file first, as in all errors about files.
func (e *fileError) Error() string { return e.path + ": " + e.err.Error() }

// Unwrap is the cause.
func (e *fileError) Unwrap() error { return e.err }

// config chooses the implementations that a job runs with.
func config(e *Env, m *modules, workers int, start startOptions) runtime.Config {
	return runtime.Config{
		Workers: workers,
		Clock:   e.Clock,
		Log:     e.Log,
		Source:  func(s *job.Source) (connector.Source, error) { return openSource(e, s) },
		Decoder: func(s *job.Source) (format.Decoder, error) { return json.NewDecoder(s.Schema, s.Value) },
		Sink:    func(s *job.Sink) (connector.Sink, error) { return openSink(e, s, start) },
		Encoder: func(s *job.Sink) (format.Encoder, error) {
			k := s.Connector.KafkaSink
			return json.NewEncoder(s.Input, json.EncoderOptions{AppendOnly: k != nil && k.Mode != job.ChangelogMode})
		},
		KeyEncoder: func(s *job.Sink) (format.Encoder, error) {
			return json.NewEncoder(s.Input.Project(s.Connector.KafkaSink.Key), json.EncoderOptions{AppendOnly: true})
		},
		Guest: m.Guest,
		Asker: func(s *job.Step) (connector.Asker, error) { return httpAsker(e, s) },
	}
}

// openSource makes a source.
func openSource(e *Env, s *job.Source) (connector.Source, error) {
	if s.Connector.KafkaSource != nil {
		return kafka.NewSource(kafkaSource(e, s))
	}
	return openFile(s.Connector.File)
}

// openSink makes a sink.
func openSink(e *Env, s *job.Sink, start startOptions) (connector.Sink, error) {
	switch f := s.Connector.File; {
	case s.Connector.KafkaSink != nil:
		return kafka.NewSink(kafkaSink(e, s, start))
	case f.Rolling != nil:
		return file.NewRolling(f.Path, shownPath(f.Path), file.RollingOptions{SizeBytes: f.Rolling.SizeBytes, Interval: f.Rolling.Interval, Clock: e.Clock, Logger: e.Log}), nil
	default:
		return file.NewSink(f.Path, shownPath(f.Path)), nil
	}
}

// openFile makes a source of a file. That it is there is looked at before anything
// starts, for the sake of a message that knows the names beside it.
func openFile(f *job.FileConnector) (connector.Source, error) {
	shown := shownPath(f.Path)
	if _, err := os.Stat(f.Path); err != nil {
		err = notThere(err, f.Path)
		var missing *missingFile
		if errors.As(err, &missing) && missing.near != "" {
			missing.near = filepath.Join(filepath.Dir(shown), missing.near)
		}
		return nil, &fileError{shown, err}
	}
	return file.NewSource(f.Path, shown, f.RecordBytesMax), nil
}
