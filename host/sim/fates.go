package sim

import (
	"math/rand/v2"

	"github.com/wasmstream/wasmstream/host/runtime"
)

// drawFatesOf draws how the processes of a seed end: at least once in a snapshot, between files and manifest, between
// manifest and commit, between commit and note, and in a recovery that has something to commit; and somewhere else.
func drawFatesOf(seed uint64) []fate {
	r := generator(seed, drawFates)
	power := func(f fate) fate {
		f.power = r.IntN(3) > 0
		return f
	}
	pick := func(places ...place) place { return places[r.IntN(len(places))] }
	fates := []fate{
		power(inSnapshot(r)),
		power(fate{at: pick(place(runtime.ManifestBefore), putManifest), nth: 1 + r.IntN(3), ops: r.IntN(2) * r.IntN(8)}),
		power(fate{at: pick(place(runtime.CommitAfter), place(runtime.NoteBefore), putNote, sinkCommitted), nth: 1 + r.IntN(3), ops: r.IntN(2) * r.IntN(6)}),
	}
	for range 1 + r.IntN(3) {
		fates = append(fates, power(anywhere(r)))
	}
	r.Shuffle(len(fates), func(i, j int) { fates[i], fates[j] = fates[j], fates[i] })
	// What is left to commit by the one is committed in the recovery of the next.
	left := power(fate{
		at: pick(place(runtime.ManifestAfter), place(runtime.CommitBefore), sinkCommit), nth: 1 + r.IntN(2), rot: r.IntN(3) == 0,
	})
	again := power(fate{at: pick(sinkRecover, sinkRecovered, sinkOpen, sinkOpened, atMade, atRecovered, place(runtime.NoteBefore), sourceOpen), nth: 1})
	start := power(fate{at: atStart, nth: 1, ops: 1 + r.IntN(60)})
	at := r.IntN(len(fates) + 1)
	return append(fates[:at:at], append([]fate{left, again, start}, fates[at:]...)...)
}

// inSnapshot is an end while state is written.
func inSnapshot(r *rand.Rand) fate {
	f := fate{at: putState, nth: 1 + r.IntN(6)}
	if r.IntN(2) == 0 {
		f.ops = 1 + r.IntN(8)
	} else {
		f.steps = 1 + r.IntN(40)
	}
	return f
}

// anywhere is an end that the others leave out.
func anywhere(r *rand.Rand) fate {
	switch r.IntN(6) {
	case 0:
		return fate{at: sinkHandover, nth: 1 + r.IntN(4), steps: r.IntN(200)}
	case 1:
		return fate{at: putMerged, nth: 1, ops: r.IntN(10)}
	case 2:
		return fate{at: deleting, nth: 1 + r.IntN(10), ops: r.IntN(4)}
	case 3:
		return fate{at: place(runtime.NoteAfter), nth: 1 + r.IntN(4), rot: r.IntN(4) == 0}
	case 4:
		return fate{at: sinkWrite, nth: 1 + r.IntN(20), steps: r.IntN(20)}
	}
	return fate{at: atMade, nth: 1, steps: 1 + r.IntN(2000)}
}
