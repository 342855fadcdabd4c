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
// What is promised in which case, and the test that holds it:
//
//	two copies of a job run          the newer one goes on; the older one fails, and says why:
//	                                 TestTwoCopiesOfAJob
//	an old copy wakes up             it takes no id back: TestAnOldCopyWakesUp
//	an older checkpoint is gone on   OvertakenError: TestACheckpointThatWasOvertaken,
//	from unawares                    TestAnIdleCheckpointThatWasOvertaken,
//	                                 TestACheckpointOfResultsThatWasOvertaken, TestACopyTookOver,
//	                                 TestACommitOfARecoveryCounts; of the newest never:
//	                                 TestTheNewestCheckpointIsNotOvertaken
//	two copies begin at once         UsedError, when the one that was put out begins again:
//	                                 TestTwoCopiesThatBegin
//	the process ends anywhere        nothing is lost or there twice: TestACrashAtEveryRequest,
//	                                 TestACrashAtEveryRequestAtLeastOnce,
//	                                 TestRecoversAfterACrash, TestACrashAfterTheCommit
//	a request or its answer is lost  it is sent again: TestEveryRequestFailsOnce,
//	                                 TestEveryRequestOfASourceFailsOnce
//	the broker is killed             every call waits for it: TestTheBrokerIsKilled,
//	                                 TestReadsOnAfterTheBrokerWasKilled
//	a coordinator or leader moves    it is found again: TestCoordinatorsThatMove,
//	                                 TestLeadersThatMove, TestEveryAnswerIsAnErrorOnce
//	a checkpoint comes to nothing    the next one covers it: TestACheckpointThatCameToNothing
//	a checkpoint without records     nothing is handed over: TestAnEmptyTransactionIsNotHandedOver
//	an id is used again              not before a later checkpoint: TestAnIDRestsUntilALaterCheckpoint,
//	                                 TestIDsRestWhileCheckpointsComeToNothing
//	a transaction expires            LostError says how many records: TestATransactionExpiredWhileTheJobWasDown;
//	                                 before its checkpoint, an error and nothing is lost:
//	                                 TestATransactionExpiredBeforeItsCheckpoint
//	the brokers do not know it       LostError, and --restore goes on: TestAnUnknownTransactionIsLost
//	transaction.version is changed   nothing is lost: TestTheTransactionVersionWasChanged
//	epochs run out                   another producer id follows: TestEpochsNearTheirLimit
//	the job has fewer tasks now      what others left open is given up: TestFewerTasksThanBefore
//	a record is refused              TopicError names its key or times, and the setting: TestRefusedRecords
//	a partition or topic is new      it is read from its beginning: TestPartitionsAndTopicsThatAreNew
//	a topic is deleted, made anew    TopicError names it: TestTopicsThatAreNotThere,
//	                                 TestATopicThatIsMadeAnewWhileNobodyReads,
//	                                 TestATopicThatIsDeletedWhileItIsWritten
//	records are deleted unread       GoneError says up to where: TestRecordsThatAreGone
//	transactions that were given up  are passed over, also at the end: TestTransactionsThatWereGivenUp
//	compaction left gaps             positions lie behind them: TestWhatCompactionLeaves
//
// Caveats: a topic that was made anew while nobody read it is known by its id, which
// brokers have since Kafka 2.8 and checkpoints since they keep it; and one that was
// copied to another cluster, even with its offsets, is another topic. Message formats
// older than Kafka 0.11's are not read; replicas of other racks are not read; a request
// names every partition (no fetch sessions). A split that is paused is not asked for, so
// its lag is that of when it was.
package kafka
