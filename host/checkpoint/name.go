package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// Kind is what an object is, the ending of its name.
type Kind string

// The kinds of objects.
const (
	KindManifest  Kind = "manifest"
	KindCommitted Kind = "committed" // the note that every sink has committed the checkpoint of this epoch
	KindBegun     Kind = "begun"     // the note that this history was begun
	KindDelta     Kind = "delta"     // what a task changed in an epoch
	KindMerged    Kind = "merged"    // several deltas in one
	KindBase      Kind = "base"      // all that a task had
)

// IsFile says whether it is an object with records, of which manifests tell.
func (k Kind) IsFile() bool { return k == KindDelta || k == KindMerged || k == KindBase }

// Name is the name of an object, taken apart.
type Name struct {
	Kind    Kind
	History int
	Epoch   int64
	// Step and Task are whose a file is. Step is as in the name: see FileName.
	Step string
	Task int
}

// ManifestName is the name of the manifest of an epoch.
func ManifestName(history int, epoch int64) string { return plainName(history, epoch, KindManifest) }

// CommittedName is the name of the note that every sink has committed the checkpoint of an epoch.
func CommittedName(history int, epoch int64) string { return plainName(history, epoch, KindCommitted) }

// BegunName is the name of the note that a history was begun.
func BegunName(history int) string { return plainName(history, 0, KindBegun) }

func plainName(history int, epoch int64, kind Kind) string {
	return fmt.Sprintf("%d-%06d.%s", history, epoch, kind)
}

// FileName is the name of a task's file. The epoch is that of the checkpoint under way, also for one that is
// merged from older files: no other attempt uses that name (invariant D). What other file systems might mistake in a step's
// name is written as % and two hex digits, capital letters too, and one that is too long is cut and made unique.
func FileName(history int, epoch int64, step string, task int, kind Kind) string {
	return fmt.Sprintf("%d-%06d-%s-%d.%s", history, epoch, escape(step), task, kind)
}

// stepBytesMax leaves room in a name for all that is around the step.
const stepBytesMax = 130

func escape(step string) string {
	var b strings.Builder
	for i := range len(step) {
		if c := step[i]; plain(c) || c == '-' || c == '_' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02x", c)
		}
	}
	if b.Len() <= stepBytesMax {
		return b.String()
	}
	digest := sha256.Sum256([]byte(step))
	return b.String()[:stepBytesMax-17] + "~" + hex.EncodeToString(digest[:8])
}

// ParseName takes a name apart. It is false for names that this package does not make.
func ParseName(name string) (Name, bool) {
	stem, kind, ok := strings.Cut(name, ".")
	if !ok {
		return Name{}, false
	}
	n := Name{Kind: Kind(kind)}
	history, rest, ok := strings.Cut(stem, "-")
	epoch, owner, owned := strings.Cut(rest, "-")
	// What is not written as we write it was written by someone else.
	ok = ok && number(history, 1, &n.History) && number(epoch, epochDigits, &n.Epoch)
	switch {
	case n.Kind == KindManifest, n.Kind == KindCommitted, n.Kind == KindBegun:
		return n, ok && !owned
	case n.Kind.IsFile():
		last := strings.LastIndexByte(owner, '-')
		if !ok || last < 0 || !number(owner[last+1:], 1, &n.Task) {
			return Name{}, false
		}
		n.Step = owner[:last]
		return n, true
	}
	return Name{}, false
}

// epochDigits is how many digits an epoch has at least in a name: so they stand in order.
const epochDigits = 6

// number reads what %d writes, or %06d for six digits at least.
func number[T int | int64](text string, least int, to *T) bool {
	v, err := strconv.ParseInt(text, 10, 64)
	*to = T(v)
	var digits [20]byte
	written := max(least, len(strconv.AppendInt(digits[:0], v, 10)))
	return err == nil && text[0] >= '0' && len(text) == written
}
