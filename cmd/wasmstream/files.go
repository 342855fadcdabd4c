package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wasmstream/wasmstream/host/connector/file"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/stream"
)

// missingFile says that there is no file of a name, and which name was probably
// meant.
type missingFile struct {
	near  string
	built bool // it is a module, which something makes
}

// Error implements error.
func (m *missingFile) Error() string {
	switch {
	case m.near == "" && m.built:
		return "there is no such file; has it been built?"
	case m.near == "":
		return "there is no such file"
	}
	return "there is no such file; did you mean " + m.near + "?"
}

// Is makes it the error that it stands for.
func (m *missingFile) Is(target error) bool { return target == fs.ErrNotExist }

// placeOf is what a connector reads or writes, for people: a path or a topic.
func placeOf(c job.Connector) string {
	switch {
	case c.File != nil:
		return shownPath(c.File.Path)
	case c.KafkaSink != nil:
		return "topic " + c.KafkaSink.Topic
	case c.KafkaSource != nil && c.KafkaSource.TopicPattern != nil:
		return "topics like " + c.KafkaSource.TopicPattern.String()
	case c.KafkaSource != nil:
		return "topics " + strings.Join(c.KafkaSource.Topics, ", ")
	}
	return c.String()
}

// openRegular opens a file to read it as a whole. A pipe or device is refused
// instead of waited for; opening a pipe would wait already.
func openRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() && !info.IsDir() { // reading a folder fails well by itself
		return nil, fmt.Errorf("it is %s; a regular file is needed", file.Kind(info.Mode()))
	}
	return os.Open(path)
}

// modeDefault is what may be done with a new file.
const modeDefault = 0o644

// replaceFile gives a file a new content, whole or not at all. It stays what it
// is: a link still leads to it, and its permissions are the same.
func replaceFile(path string, content []byte) error {
	path, err := file.Target(path)
	if err != nil {
		return err
	}
	mode := os.FileMode(modeDefault)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("its folder is not there")
	}
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Chmod(mode), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// namesMax bounds how many names of a folder are compared with a missing one.
const namesMax = 10_000

// nearestFile is the name in a missing file's folder that it is probably a
// misspelling of, or "".
func nearestFile(path string) string {
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return ""
	}
	defer folder.Close()
	names, err := folder.Readdirnames(namesMax)
	if err != nil {
		return ""
	}
	if isModule(path) { // its source has nearly the same name
		names = slices.DeleteFunc(names, func(name string) bool { return !isModule(name) })
	}
	return stream.Nearest(filepath.Base(path), names)
}

func isModule(path string) bool { return filepath.Ext(path) == ".wasm" }

// shownPath is a path as a user in the working directory would write it: relative
// to there, unless the absolute path is shorter.
func shownPath(path string) string {
	folder, err := os.Getwd()
	if err != nil || !filepath.IsAbs(path) {
		return path
	}
	relative, err := filepath.Rel(folder, path)
	if err != nil || len(relative) > len(path) {
		return path
	}
	return relative
}
