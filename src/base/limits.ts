/**
 * Every queue, buffer, frame, wait and cache of the node has its bound here (design invariant 7).
 * Units stand last in the names. `docs/reference/limits.md` is generated from this table and its comments.
 */
export const limits = {
  /** Largest Kafka request frame accepted, in bytes (Kafka's socket.request.max.bytes). */
  requestFrameBytesMax: 104_857_600,
  /** Array elements and tagged fields in one frame, all arrays together. */
  frameElementsMax: 2_000_000,
  /** Unsent answer bytes per connection past which its requests are neither read nor started. */
  connectionUnsentBytesMax: 8 * 1024 * 1024,
  /** Requests of one connection that may wait for their answers at once. */
  connectionInFlightMax: 1_000,
  /** Milliseconds without a request after which an idle connection is closed (Kafka's connections.max.idle.ms). */
  connectionIdleMsMax: 600_000,
  /** Open Kafka connections, if the system lets the process have so many files open. */
  connectionsMax: 10_000,
  /** Open files that connections leave to the logs, DuckDB and HTTP; connections may have a quarter of what the system allows in any case. */
  filesReserved: 700,
  /** Largest answer to one Fetch, in bytes, whatever the client asks for (Kafka's fetch.max.bytes). */
  fetchAnswerBytesMax: 57_671_680,
  /** Partitions that one DescribeTopicPartitions answer lists (Kafka's max.request.partition.size.limit). */
  describedPartitionsMax: 2_000,
  /** Longest wait of a Fetch that has only batches without records to answer with, in milliseconds. */
  emptiedWaitMs: 100,
  /** Longest wait of a Fetch, in milliseconds. */
  fetchWaitMsMax: 60_000,
  /** Incremental fetch sessions (max.incremental.fetch.session.cache.slots). */
  fetchSessionsMax: 1_000,
  /** Partitions of all incremental fetch sessions together. */
  fetchSessionPartitionsMax: 1_000_000,
  /** Consumer groups known at once. */
  groupsMax: 100_000,
  /** Members of one consumer group, promised member ids included (group.max.size). */
  groupMembersMax: 10_000,
  /** Bytes of one member's metadata, all its protocols together. */
  groupMemberBytesMax: 1_048_576,
  /** Bytes by which a partition of `__consumer_offsets` grows, at least, before it is compacted. */
  offsetsLogGrowthBytesMax: 1_048_576,
  /** Topics of a lake. */
  topicsMax: 200_000,
  /** Partitions of one topic. */
  partitionsPerTopicMax: 10_000,
  /** Default of max.message.bytes: a record batch as sent, in bytes, with its 12 bytes of log overhead. */
  batchBytesMax: 1_048_588,
  /** Bytes that a compressed batch may grow to when it is decoded. */
  batchPlainBytesMax: 256 * 1024 * 1024,
  /** Memory that a thread's WebAssembly kernels keep between calls; a call that needs more gets it for itself. */
  kernelMemoryBytesMax: 32 * 1024 * 1024,
  /** Events in the catalog's journal after which a start takes a snapshot. */
  catalogEventsMax: 1_000,
  /** Open files of segments and indexes, all partitions together. */
  logFilesOpenMax: 512,
  /** Memory that large reads of the log for consumers use again, in bytes. */
  readPoolBytesMax: 64 * 1024 * 1024,
  /** Batches without records that one read of the log passes over in search of one that has some, in bytes; the next one goes on from there. */
  emptiedBytesPassedMax: 256 * 1024,
  /** Memory that large request frames use again, in bytes; what nobody needs goes within 20 s. */
  framePoolBytesMax: 64 * 1024 * 1024,
  /** Memory for recent batches that tail consumers are answered from, in bytes; batches that are not durable come on top. */
  recentBatchesBytesMax: 16 * 1024 * 1024,
  /** Bytes of one group commit of one partition, past which the next group begins. */
  groupCommitBytesMax: 32 * 1024 * 1024,
  /** Bytes of a group that under `--durability os` is written without waiting for others. */
  groupWriteAtOnceBytes: 256 * 1024,
  /** Idempotent producers remembered per partition; past it the longest unused one is forgotten. */
  producersPerPartitionMax: 20_000,
  /** Space that is kept for the writes of deletions on a full disk, in bytes (at most a two-hundredth of the file system). */
  ballastBytes: 1024 * 1024,
  /** Free space in bytes below which produces are refused (at most a twentieth of the file system). */
  diskReserveBytes: 64 * 1024 * 1024,
  /** Bytes behind a bad batch that a recovery searches for good ones, to tell a torn end from damage. */
  recoverySearchBytesMax: 8 * 1024 * 1024,
  /** Log bytes before a snapshot that are looked through for the last batches of its producers. */
  producerHistoryBytesMax: 8 * 1024 * 1024,
  /** Pause between two checkpoints of the logs, in milliseconds. */
  logCheckpointMs: 60_000,
  /** Bytes appended to a partition after which a checkpoint does not wait for its time: what a start after a crash may check. */
  logCheckpointBytes: 256 * 1024 * 1024,
  /** Pause between two rounds of retention, in milliseconds, as DescribeConfigs shows it: Kafka's log.retention.check.interval.ms. */
  logRetentionCheckMs: 300_000,
  /** Pause between two searches for logs to compact, in milliseconds (Kafka's log.cleaner.backoff.ms). */
  cleanerBackoffMs: 15_000,
  /** Memory for the newest offset of each key during a compaction, in bytes, 24 a key; with more keys it takes several passes (Kafka's log.cleaner.dedupe.buffer.size). */
  cleanerMapBytesMax: 64 * 1024 * 1024,
  /** Time that a compaction works before all others have their turn, in milliseconds. */
  cleanerSliceMs: 3,
  /** Bytes that compaction reads and writes in a second (Kafka's log.cleaner.io.max.bytes.per.second). */
  cleanerBytesPerSecondMax: 128 * 1024 * 1024,
  /** Time after which an idle producer is forgotten, in milliseconds (Kafka's producer.id.expiration.ms). */
  producerExpirationMs: 86_400_000,
  /** Pause between attempts to use a partition whose disk failed, in milliseconds. */
  storageRetryMs: 1_000,
  /** Refused records that one Produce answer names for a batch; the message says how many there are. */
  recordErrorsMax: 100,
  /** Time of a transaction of the applier from which on records wait for more behind it, in milliseconds. */
  applierPaceMsMin: 20,
  /** Longest such wait, in milliseconds; a statement that reads the table ends it. */
  applierPaceMsMax: 250,
  /** So many bytes of decoded rows need not wait for more: DuckDB writes them into its file as whole row groups. */
  applierPaceBytes: 12 * 1024 * 1024,
  /** Deletes in one batch that a truncation puts into the log. */
  truncateBatchRecords: 10_000,
  /** Rows of a table that a truncation event may delete; the batch is refused beyond. */
  truncateRowsMax: 2_000_000,
  /** Decoded rows of all tables that wait for DuckDB, in bytes; what does not fit is read from the log later. */
  applierQueueBytesMax: 64 * 1024 * 1024,
  /** While more than this waits for DuckDB, in bytes, producers to tables get their answers later: by this much at most, in milliseconds. */
  applierThrottleBytes: 24 * 1024 * 1024,
  applierThrottleMsMax: 1_000,
  /** Rows that one transaction of the applier takes, in bytes of their columns; the batch that reaches it is the last. */
  applyBytesMax: 16 * 1024 * 1024,
  /** Memory kept for records on their way into a codec, in bytes. */
  recompressPoolBytesMax: 4 * 1024 * 1024,
  /** Memory kept for decompressed batches of tables and their indexes, in bytes. */
  tableDecodePoolBytesMax: 16 * 1024 * 1024,
  /** Memory kept for the columns of decoded rows, in bytes of values that were in it. */
  spareColumnBytesMax: 32 * 1024 * 1024,
  /** Bytes of log that the applier reads at once when it catches up. */
  applierReadBytesMax: 1024 * 1024,
  /** Shortest and longest pause before rows that could not be applied are tried again, in milliseconds. */
  applierRetryMsMin: 10,
  applierRetryMsMax: 5_000,
  /** Plain topics that SHOW TABLES and the like name, beyond those that were read; each costs DuckDB 70 KB. The rest can be read all the same. */
  listedTopicsMax: 1_000,
  /** Records of plain topics that are held in memory for SELECT, in bytes; the least recently asked for make room. */
  scanBytesMax: 512 * 1024 * 1024,
  /** Time between two syncs of what the applier put into DuckDB, in milliseconds; until then retention keeps the log. */
  applierSyncMs: 10_000,
  /** Longest wait of a produced batch for a SQL write to its table, and of such a write for the batches under way, in milliseconds. */
  gateWaitMs: 20_000,
  /** Batches and writes that wait for one table. */
  gateWaitersMax: 1_024,
  /** Records that one SQL transaction makes, in bytes; they are held in memory until its commit. */
  sqlTransactionBytesMax: 256 * 1024 * 1024,
  /** Size up to which records of a SQL transaction go into one batch, in bytes (a topic's max.message.bytes may be less). */
  sqlBatchBytesMax: 1024 * 1024,
  /** Longest wait of a write for the one before it, in milliseconds. */
  sqlWriteWaitMs: 30_000,
  /** Longest wait of a COMMIT's answer for the logs, in milliseconds; the records are appended in any case. */
  sqlAppendWaitMs: 30_000,
  /** Age of a SQL transaction past which its next statement is refused, in milliseconds: DuckDB's log cannot be folded while it is open. */
  sqlTransactionMs: 600_000,
  /** Open SQL sessions. */
  sqlSessionsMax: 1_000,
  /** Time after which a session without a transaction is closed when nobody uses it, in milliseconds. */
  sqlSessionIdleMs: 600_000,
  /** Depth of nesting of one JSON value. */
  jsonDepthMax: 500,
  /** Schema blocks of change events that are remembered for each table, and the largest that is taken, which is also all of them together, in bytes. */
  changeSchemasMax: 32,
  changeSchemaBytesMax: 4 * 1024 * 1024,
  /** Bytes of one decimal of a change event, and its largest scale either way: more digits than any column is declared with. */
  changeDecimalBytesMax: 1_024,
  changeDecimalScaleMax: 1_000,
  /** Bits of one value of a change event that become digits of a text. */
  changeBitsMax: 65_536,
  /** Largest body of one HTTP request, in bytes. */
  httpBodyBytesMax: 16 * 1024 * 1024,
  /** Records in one HTTP read; more are had by asking again from `next_offset`. */
  httpReadRecordsMax: 10_000,
  /** Plain bytes of records in one HTTP read, past which it ends early. */
  httpReadBytesMax: 8 * 1024 * 1024,
  /** Longest wait of one HTTP read for a first record, in milliseconds. */
  httpReadWaitMsMax: 30_000,
  /** Partitions that one scrape of /metrics reports; the rest are only counted. */
  metricsPartitionsMax: 20_000,
  /** Largest answer frame that our own Kafka client takes, in bytes. */
  clientFrameBytesMax: 256 * 1024 * 1024,
  /** DuckDB's write-ahead log past which it is folded into the database as soon as no statement runs, in bytes. */
  sqlLogBytesIdleMax: 64 * 1024 * 1024,
  /** DuckDB's write-ahead log past which new statements wait until the running ones end and it is folded, in bytes. */
  sqlLogBytesMax: 512 * 1024 * 1024,
  /** Statements under way at once; more wait. */
  sqlStatementsMax: 64,
  /** Text of the rows that a statement's whole answer may have where it is not streamed, in characters. */
  sqlCollectedCharsMax: 256 * 1024 * 1024,
} as const;
