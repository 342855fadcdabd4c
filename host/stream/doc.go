// Package stream is the engine's vocabulary: types and schemas, rows, batches
// with their in-band marks, event time, watermarks, key groups and the clock.
// Every other package of the host speaks it; it imports the standard library
// alone.
//
// Invariants:
//
//	(R) A row is laid out as Flink's BinaryRowData, little-endian, to the byte.
//	    Its length is a multiple of 8, so rows that follow each other in one
//	    buffer are all 8-aligned.
//	(K) A key is a row of kind +I, even for one column; two keys are equal when
//	    their bytes are. Its hash is BinaryRowData's, its key group follows from
//	    the hash and the job's maximal parallelism alone.
//	(B) A batch's marks are sorted by the row they stand before, and a barrier
//	    is always the last thing in its batch.
//
// Source of the layout and the hashes: org.apache.flink.table.data.binary in
// flink-table-common, restated from its documentation and checked against the
// real classes (testdata/rows).
package stream
