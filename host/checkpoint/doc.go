// Package checkpoint is what a job leaves behind to go on from: the bytes of its files, the decisions about them, and
// the contract of the place where they lie. It does no I/O but through a Store, reads no clock, and starts nothing.
//
// A checkpoint is told as a sequence: each task writes its changed records as a delta file; when all files are durable
// one manifest that names them is put, and from then on the checkpoint is there; then the sinks commit, and a note of
// that is put. Now and then several files are merged into one. What no manifest needs any more is deleted last.
//
//	FILES     1-000042-per-user-0.delta   what task 0 of the step per-user changed up to epoch 42 of history 1
//	          1-000042-per-user-0.merged  several deltas in one
//	          1-000042-per-user-0.base    all it had then
//	MANIFEST  1-000042.manifest           positions, hand-overs, and the names and checksums of files
//	NOTES     1-000042.committed          every sink has committed that checkpoint
//	          2-000000.begun              a history was begun anew; the ones before it no longer count
//
// It promises:
//
//	A. An object is there whole, or not at all. A checkpoint is there from the moment its manifest is durable, and a
//	   manifest is put when all the files it names are.
//	B. Every byte of every object is covered by a checksum, down from the manifest: its own checksum covers the
//	   checksum of each file, which covers the file's index, which covers the checksums of blocks, which cover the
//	   records. No reader hands out a record before its block was checked. Only notes have none: their names say all.
//	C. A damaged, cut, or missing object is an error that names it and says what is wrong, never a panic, never memory
//	   without bound, and never other records. Recover then takes the next older checkpoint and says so; if there are
//	   only unsound ones it fails, and does not begin anew.
//	D. A file is named once: Recovery.Next is above every epoch of which any object remains, so that no later attempt
//	   writes over what an earlier manifest may name.
//	E. Nothing is deleted that a manifest which is kept names, nor before a newer one is durable and committed.
//	F. The newest of several records of a key counts, whether they are of one Delta or of files that are merged. Equal
//	   records give equal files, in whatever order they were added.
//	G. Memory is bounded: a reader holds one block of each file, a block is about 64 KiB or one record that is larger.
//
// Its caveats: checksums find accidents, not forgers. A checkpoint that is older than one that was committed is
// consistent in itself, but what the sinks made visible since is made visible again; Recovery.CommittedBeyond tells.
package checkpoint
