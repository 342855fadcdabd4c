package sandbox

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"sync"

	"github.com/wasmstream/wasmstream/host/sandbox/meter"
	"github.com/wasmstream/wasmstream/host/sandbox/refine"
)

// What rewrites modules, as text: what was rewritten by another text is not believed, so
// that nobody has to remember to count versions.
//
//go:embed meter/*.go opcode/*.go refine/*.go
var rewriting embed.FS

// rewritingVersion is the digest of that text.
var rewritingVersion = sync.OnceValue(func() string {
	hash := sha256.New()
	err := fs.WalkDir(rewriting, ".", func(path string, file fs.DirEntry, err error) error {
		if err != nil || file.IsDir() {
			return err
		}
		content, err := rewriting.ReadFile(path)
		hash.Write(content)
		return err
	})
	if err != nil {
		panic(err) // the files are in the program
	}
	return hex.EncodeToString(hash.Sum(nil))
})

// rewrite makes what runs in place of a module (see packages refine and meter).
func (m *Module) rewrite(wasm []byte) ([]byte, error) {
	refined, err := refine.Rewrite(wasm)
	if err != nil {
		return nil, m.invalid(err)
	}
	if m.options.unmetered {
		return refined, nil
	}
	metered, err := meter.Rewrite(refined)
	if err != nil {
		return nil, m.invalid(err)
	}
	return metered, nil
}
