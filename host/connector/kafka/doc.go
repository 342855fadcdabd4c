// Package kafka reads records from topics of Apache Kafka and writes them to one,
// exactly once if it is asked to.
//
// The source is no member of a consumer group: its positions are kept by whoever
// reads it, and every partition is one split, "topic/partition". The sink writes
// each checkpoint's records in one transaction, whose name and epoch are the
// hand-over; so whoever holds the hand-over can commit it, whatever became of the
// process that wrote it. Facts about brokers that this rests on were measured on
// real ones; where they are used, the comment says so.
//
// Invariants:
//
//	(B) Memory is bounded: the source holds one response of each broker and one
//	    that is being read, together about FetchBytesMax; the sink holds
//	    BufferBytesMax. One batch of records that is larger is still taken whole.
//	(S) Nothing is skipped in silence. A position that the log no longer has, a
//	    topic that was deleted or made anew, a transaction that the broker gave up:
//	    each is an error that says what was lost.
//	(O) The records of a split come in order, each once: while a request for a
//	    split is under way, or its answer is not handed on, no other is sent.
//	(H) A transaction is never given up, and its id never used, between its
//	    hand-over and its commit.
//	(R) An id is used again only after a later checkpoint than the one that
//	    committed it is durable: until then, going back to an older checkpoint must
//	    find it as it was.
//
// Caveats: message formats older than Kafka 0.11's are not read; replicas of other
// racks are not read; a request names every partition (no fetch sessions).
package kafka
