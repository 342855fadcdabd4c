package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// Store is where the objects of one job lie: names with bytes, as in a folder or a bucket. All methods may be called
// from several goroutines at once. Errors are of three kinds: an object that is not there (errors.Is fs.ErrNotExist),
// one that the medium has lost (*Damaged), and all others, after which the same call may succeed another time.
// Package storetest has the suite that an implementation passes.
type Store interface {
	// Put makes an object of what write writes, in place of one of that name if there is one. When it has returned nil
	// the object is whole and durable. If write fails, Put fails with its error and all is as before. After any other
	// error all is as before too, or the object is there, whole: the caller has to take both for possible, since a
	// store can fail to tell what it did.
	Put(name string, write func(io.Writer) error) error
	// Get opens an object.
	Get(name string) (Object, error)
	// List returns the names of all objects, sorted.
	List() ([]string, error)
	// Delete removes an object; that it is not there is no error. After a crash it may be there again, whole.
	Delete(name string) error
	// Close gives up the store, for others to open. Objects are closed before.
	Close() error
}

// Object is the bytes of an object, Size of them, which go on being the same if it is replaced or deleted meanwhile, until
// Close. ReadAt may be called from several goroutines at once.
type Object interface {
	io.ReaderAt
	Size() int64
	Close() error
}

// Failed is that a store could not do what it was asked for, and that nothing is known to be lost by that.
type Failed struct {
	Store string // which one, such as its folder
	Do    string // what it was about to do: "write", "open", …
	Name  string // the object; may be empty
	// Advice is what to do about it, if that is known.
	Advice string
	Err    error
}

// Error tells it in one line.
func (f *Failed) Error() string {
	what := f.Do
	if f.Name != "" {
		what += " " + f.Name
	}
	text := fmt.Sprintf("checkpoint store %s: %s: %v", f.Store, what, f.Err)
	if f.Advice != "" {
		text += "; " + f.Advice
	}
	return text
}

// Unwrap is what the system said.
func (f *Failed) Unwrap() error { return f.Err }

// Retryable says whether what failed with err may succeed later with nothing changed but the store's condition: there is
// room again, it is reached again, it is no longer read-only. A job goes on after such an error and counts a checkpoint
// that came to nothing; after any other it would fail the same way again.
func Retryable(err error) bool {
	var failed *Failed
	return errors.As(err, &failed) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrInvalid)
}

// Damaged is that an object is not what was once written: a bit flipped, its end lost, or gone as a whole.
type Damaged struct {
	Object string // its name
	Part   string // where in it; may be empty
	Reason string
}

// Error tells it in one line.
func (d *Damaged) Error() string {
	if d.Part == "" {
		return fmt.Sprintf("%s is damaged: %s", d.Object, d.Reason)
	}
	return fmt.Sprintf("%s is damaged in %s: %s", d.Object, d.Part, d.Reason)
}

// nameBytesMax is the longest name of an object: what file systems take, less what a store may add.
const nameBytesMax = 200

// CheckName tells why a store cannot have an object of that name; nil if it can. Names are made for every file system:
// small letters, digits, and -_.%~ with a letter or digit first.
func CheckName(name string) error {
	bad := name == "" || len(name) > nameBytesMax || !plain(name[0])
	for i := 0; i < len(name) && !bad; i++ {
		switch c := name[i]; {
		case plain(c), c == '-', c == '_', c == '.', c == '%', c == '~':
		default:
			bad = true
		}
	}
	if bad {
		return fmt.Errorf("%q is no name for an object: %w", name, fs.ErrInvalid)
	}
	return nil
}

func plain(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' }
