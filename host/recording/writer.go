package recording

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Options say what is recorded, and how much of it.
type Options struct {
	// BytesMax bounds the recording (default 256 MiB).
	BytesMax int64
	// Sample has each instance record its first call and then each Sample-th; 0: all.
	Sample int
	// Stopped is told once why the recording ended before the run; nil: nobody is.
	Stopped func(reason error)
}

const bytesMaxDefault = 256 << 20

// errFull is why a recording ends at its limit.
var errFull = errors.New("it has reached its limit")

// Writer writes a recording. Any goroutine may use it.
type Writer struct {
	options Options

	mutex     sync.Mutex
	w         io.Writer
	left      int64
	functions uint32
	instances map[string]int
	calls     uint64
	stopped   error
}

// endBytes are kept for the last record.
const endBytes = 256

// NewWriter begins a recording.
func NewWriter(w io.Writer, o Options, h Header) (*Writer, error) {
	if o.BytesMax == 0 {
		o.BytesMax = bytesMaxDefault
	}
	if o.BytesMax < 4096 {
		return nil, fmt.Errorf("a recording of %d bytes at the most: choose 4096 or more", o.BytesMax)
	}
	out := &Writer{options: o, w: w, left: o.BytesMax - endBytes, instances: map[string]int{}}
	if _, err := io.WriteString(w, magic); err != nil {
		return nil, err
	}
	out.left -= int64(len(magic))
	out.json(kindHeader, h)
	return out, out.stopped
}

// json writes a record of JSON; the mutex is held, or nobody else has the writer yet.
func (w *Writer) json(kind uint8, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		w.stop(err)
		return
	}
	w.write(append(make([]byte, recordHead), text...), kind)
}

// write writes a record that begins with room for its head.
func (w *Writer) write(record []byte, kind uint8) {
	if w.stopped != nil {
		return
	}
	if int64(len(record)) > w.left || len(record)-recordHead > recordBytesMax {
		w.stop(errFull)
		return
	}
	w.left -= int64(len(record))
	if _, err := w.w.Write(seal(record, kind)); err != nil {
		w.stop(err)
	}
}

// stop ends the recording; what caused it is told once.
func (w *Writer) stop(reason error) {
	w.stopped = reason
	if w.options.Stopped != nil {
		w.options.Stopped(reason)
	}
}

// function writes a function's record and numbers it.
func (w *Writer) function(f *Function) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	name := f.Step + "\x00" + f.Module + "\x00" + f.Name
	f.ID, f.Instance = w.functions, w.instances[name]
	w.functions++
	w.instances[name]++
	w.json(kindFunction, f)
}

// call writes a call, laid out in a buffer that is returned for the next.
func (w *Writer) call(c *Call, buffer []byte) []byte {
	buffer = c.appendTo(append(buffer[:0], make([]byte, recordHead)...))
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.write(buffer, kindCall)
	if w.stopped == nil {
		w.calls++
	}
	return buffer
}

// Calls is how many calls were recorded.
func (w *Writer) Calls() uint64 {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.calls
}

// Close writes how the recording ended. The io.Writer stays the caller's to close.
func (w *Writer) Close() error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	e := end{Calls: w.calls}
	if w.stopped != nil {
		if e.Reason = w.stopped.Error(); !errors.Is(w.stopped, errFull) {
			return nil // the file takes no more
		}
	}
	w.stopped, w.left = nil, endBytes
	w.json(kindEnd, e)
	err := w.stopped
	w.stopped = errors.New("it is closed")
	return err
}
