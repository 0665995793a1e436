/**
 * Where groups and committed offsets are kept: a partitioned log of keyed records, of which the last per key counts and a
 * null value deletes. It is Kafka's internal topic `__consumer_offsets`; this interface keeps the coordinator free of files.
 */
export interface KeyedRecord {
  key: Uint8Array;
  value: Uint8Array | null;
}

export interface OffsetsLog {
  /** Partitions of the topic; fixed for the life of a lake, since a group's partition follows from it. */
  readonly partitionCount: number;
  /**
   * Appends in the order of the calls; nothing at all only makes the log ready for more. Resolves once all is durable; rejects with a KafkaError (KAFKA_STORAGE_ERROR,
   * MESSAGE_TOO_LARGE) when some of it is not.
   */
  append(partition: number, records: readonly KeyedRecord[]): Promise<void>;
  /** Visits every durable record of a partition in order. */
  replay(partition: number, visit: (record: KeyedRecord) => void): void;
  /** Whether so much was appended that it is time to `compact`. */
  isLong(partition: number): boolean;
  /** Appends records that say all that is still true, then drops everything before them. */
  compact(partition: number, records: readonly KeyedRecord[]): Promise<void>;
}

/** Kafka's choice of a group's partition: Java's hash of the id, made positive, modulo the partitions. */
export function partitionOfGroup(groupId: string, partitionCount: number): number {
  let hash = 0;
  for (let index = 0; index < groupId.length; index++) hash = (Math.imul(31, hash) + groupId.charCodeAt(index)) | 0;
  return (hash & 0x7fffffff) % partitionCount;
}

/** An OffsetsLog in memory: for tests, and for a node without a disk. */
export class MemoryOffsetsLog implements OffsetsLog {
  readonly partitionCount: number;
  readonly partitions: KeyedRecord[][];

  private readonly recordsMax: number;

  constructor(partitionCount = 4, recordsMax = 100_000) {
    this.partitionCount = partitionCount;
    this.recordsMax = recordsMax;
    this.partitions = Array.from({ length: partitionCount }, () => []);
  }

  async append(partition: number, records: readonly KeyedRecord[]): Promise<void> {
    this.partitions[partition]!.push(...records.map(({ key, value }) => ({ key, value })));
  }

  replay(partition: number, visit: (record: KeyedRecord) => void): void {
    for (const record of this.partitions[partition]!) visit(record);
  }

  isLong(partition: number): boolean {
    return this.partitions[partition]!.length > this.recordsMax;
  }

  async compact(partition: number, records: readonly KeyedRecord[]): Promise<void> {
    this.partitions[partition] = [...records];
  }
}
