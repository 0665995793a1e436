/**
 * The catalog: which topics and tables there are, with their ids and settings. Its state is the fold of an event journal.
 *
 * Invariant: a change is visible only after its event is durable, and every visible change survives a crash. The event
 * of a change is decided and queued in one step, so concurrent changes cannot contradict each other.
 */
import type { Clock } from "../base/clock.ts";
import { KafkaError } from "../base/kafka_error.ts";
import { limits } from "../base/limits.ts";
import type { Logger } from "../base/log.ts";
import { randomUuid, type Uuid } from "../base/uuid.ts";
import { type Disk, frameOf, Journal, JournalError } from "../log/journal.ts";
import type { CatalogChange, NewTopic, TableDefinition, TopicEntry } from "./entries.ts";
import { topicNameFault } from "./names.ts";

export type { CatalogChange, ColumnDefinition, NewTopic, TableDefinition, TopicEntry } from "./entries.ts";

/** Raised when the catalog's shape changes so that an older node must not open the lake. */
const formatVersion = 1;

interface StoredTopic {
  name: string;
  id: Uuid;
  partitions: number;
  configs: Record<string, string>;
  internal?: true;
  createdMs: number;
  table?: TableDefinition;
}

type CatalogEvent =
  | { kind: "lake"; format: number; clusterId: Uuid }
  | { kind: "topic.created"; topic: StoredTopic }
  | { kind: "topic.deleted"; name: string; id: Uuid }
  | { kind: "topic.configured"; name: string; configs: Record<string, string> }
  | { kind: "topic.extended"; name: string; partitions: number }
  | { kind: "topic.altered"; name: string; table: TableDefinition }
  | { kind: "put"; space: string; key: string; value: unknown };

interface Snapshot {
  format: number;
  /** Events before the snapshot, of all time. */
  events?: number;
  clusterId: Uuid;
  topics: StoredTopic[];
  values: [space: string, key: string, value: unknown][];
}

export class Catalog {
  private readonly journal: Journal;
  private readonly clock: Clock;
  private readonly byName = new Map<string, TopicEntry>();
  private readonly byId = new Map<Uuid, TopicEntry>();
  /** Topics that are tables, by their names in lower case: SQL does not tell capitals apart. */
  private readonly tables = new Map<string, TopicEntry>();
  private readonly values = new Map<string, Map<string, unknown>>();
  /** Names whose creation or deletion is on its way to the disk. */
  private readonly busy = new Set<string>();
  private readonly listeners = new Set<(change: CatalogChange) => void>();
  /** The cluster's id, made with the lake. */
  clusterId: Uuid = "";
  /** Events of all time: only grows, over restarts too. */
  eventCount = 0;

  private constructor(journal: Journal, clock: Clock) {
    this.journal = journal;
    this.clock = clock;
  }

  /** Opens the lake's catalog or makes it; throws JournalError when the lake is damaged or from a newer version. */
  static async open(disk: Disk, directory: string, clock: Clock, logger: Logger): Promise<Catalog> {
    const { journal, contents } = Journal.open(disk, directory, logger);
    const catalog = new Catalog(journal, clock);
    const decoder = new TextDecoder();
    if (contents.snapshot) catalog.restore(JSON.parse(decoder.decode(contents.snapshot)) as Snapshot);
    for (const event of contents.events) catalog.apply(JSON.parse(decoder.decode(event)) as CatalogEvent);
    if (catalog.clusterId === "") {
      const event: CatalogEvent = { kind: "lake", format: formatVersion, clusterId: randomUuid() };
      await catalog.write(event);
    } else if (contents.events.length > limits.catalogEventsMax) catalog.takeSnapshot();
    return catalog;
  }

  topics(): IterableIterator<TopicEntry> {
    return this.byName.values();
  }

  get topicCount(): number {
    return this.byName.size;
  }

  topic(name: string): TopicEntry | undefined {
    return this.byName.get(name);
  }

  topicById(id: Uuid): TopicEntry | undefined {
    return this.byId.get(id);
  }

  /** `fn` hears of each change after it is durable and visible; the result stops that. */
  onChange(fn: (change: CatalogChange) => void): () => void {
    this.listeners.add(fn);
    return () => this.listeners.delete(fn);
  }

  /** Why a topic could not be created, or undefined; what CreateTopics with validate_only asks. */
  creationFault(topic: NewTopic): KafkaError | undefined {
    const fault = topicNameFault(topic.name);
    if (fault) return new KafkaError("INVALID_TOPIC_EXCEPTION", fault);
    if (this.byName.has(topic.name) || this.busy.has(topic.name))
      return new KafkaError("TOPIC_ALREADY_EXISTS", `Topic '${topic.name}' already exists.`);
    const table = this.tables.get(topic.name.toLowerCase());
    if (table) {
      const message = `Topic '${topic.name}' differs only in case from table '${table.name}', and SQL does not tell them apart.`;
      return new KafkaError("INVALID_TOPIC_EXCEPTION", message);
    }
    if (!(topic.partitions > 0))
      return new KafkaError("INVALID_PARTITIONS", "Number of partitions must be larger than 0.");
    if (topic.partitions > limits.partitionsPerTopicMax)
      return new KafkaError(
        "INVALID_PARTITIONS",
        `A topic can have at most ${limits.partitionsPerTopicMax} partitions.`,
      );
    return undefined;
  }

  /** Makes a topic; throws what creationFault says. */
  async createTopic(topic: NewTopic): Promise<TopicEntry> {
    const fault = this.creationFault(topic);
    if (fault) throw fault;
    const stored: StoredTopic = {
      name: topic.name,
      id: randomUuid(),
      partitions: topic.partitions,
      configs: Object.fromEntries(topic.configs ?? []),
      ...(topic.internal ? { internal: true as const } : {}),
      createdMs: this.clock.nowMs(),
      ...(topic.table ? { table: topic.table } : {}),
    };
    await this.exclusively(topic.name, { kind: "topic.created", topic: stored });
    return this.byName.get(topic.name)!;
  }

  async deleteTopic(name: string): Promise<TopicEntry> {
    const topic = this.existing(name);
    await this.exclusively(name, { kind: "topic.deleted", name, id: topic.id });
    return topic;
  }

  /** Replaces all configs that are set on the topic. The caller has validated them (topic_configs.ts). */
  async setConfigs(name: string, configs: Iterable<readonly [string, string]>): Promise<TopicEntry> {
    this.existing(name);
    await this.exclusively(name, { kind: "topic.configured", name, configs: Object.fromEntries(configs) });
    return this.existing(name);
  }

  /** Replaces a table's definition; the table's name stays. */
  async alterTable(name: string, table: TableDefinition): Promise<TopicEntry> {
    this.existing(name);
    await this.exclusively(name, { kind: "topic.altered", name, table });
    return this.existing(name);
  }

  /** Raises the number of partitions to `count`. */
  async addPartitions(name: string, count: number): Promise<TopicEntry> {
    const topic = this.existing(name);
    if (count <= topic.partitions) {
      const message = `The topic ${name} currently has ${topic.partitions} partition(s); ${count} would not be an increase.`;
      throw new KafkaError("INVALID_PARTITIONS", message);
    }
    if (count > limits.partitionsPerTopicMax)
      throw new KafkaError(
        "INVALID_PARTITIONS",
        `A topic can have at most ${limits.partitionsPerTopicMax} partitions.`,
      );
    await this.exclusively(name, { kind: "topic.extended", name, partitions: count });
    return this.existing(name);
  }

  /** Small state of other parts: a JSON value by space and key; `undefined` removes it. */
  async put(space: string, key: string, value: unknown): Promise<void> {
    await this.write({ kind: "put", space, key, value });
  }

  value(space: string, key: string): unknown {
    return this.values.get(space)?.get(key);
  }

  entries(space: string): IterableIterator<[string, unknown]> {
    return (this.values.get(space) ?? new Map<string, unknown>()).entries();
  }

  close(): void {
    if (this.journal.idle && this.journal.eventCount > 0) this.takeSnapshot();
    this.journal.close();
  }

  private existing(name: string): TopicEntry {
    const topic = this.byName.get(name);
    if (!topic) throw new KafkaError("UNKNOWN_TOPIC_OR_PARTITION", `There is no topic '${name}'.`);
    return topic;
  }

  /** Writes an event about one name while no other change to that name is under way. */
  private async exclusively(name: string, event: CatalogEvent): Promise<void> {
    if (this.busy.has(name))
      throw new KafkaError("CONCURRENT_TRANSACTIONS", `Topic '${name}' is being changed; try again.`);
    this.busy.add(name);
    try {
      await this.write(event);
    } finally {
      this.busy.delete(name);
    }
  }

  private async write(event: CatalogEvent): Promise<void> {
    try {
      await this.journal.append(new TextEncoder().encode(JSON.stringify(event)));
    } catch (error) {
      throw new KafkaError("KAFKA_STORAGE_ERROR", `The catalog could not be written: ${(error as Error).message}`);
    }
    const change = this.apply(event);
    if (change) for (const listener of this.listeners) listener(change);
  }

  private apply(event: CatalogEvent): CatalogChange | undefined {
    this.eventCount++;
    switch (event.kind) {
      case "lake":
        checkFormat(event.format);
        this.clusterId = event.clusterId;
        return undefined;
      case "topic.created":
        return { kind: "created", topic: this.setTopic(fromStored(event.topic)) };
      case "topic.deleted": {
        const topic = this.byName.get(event.name)!;
        this.byName.delete(event.name);
        this.byId.delete(event.id);
        if (topic.table) this.tables.delete(topic.name.toLowerCase());
        return { kind: "deleted", topic };
      }
      case "topic.configured": {
        const configs = new Map(Object.entries(event.configs));
        return { kind: "configured", topic: this.setTopic({ ...this.byName.get(event.name)!, configs }) };
      }
      case "topic.altered":
        return { kind: "altered", topic: this.setTopic({ ...this.byName.get(event.name)!, table: event.table }) };
      case "topic.extended": {
        const before = this.byName.get(event.name)!;
        const topic = this.setTopic({ ...before, partitions: event.partitions });
        return { kind: "extended", topic, partitionsBefore: before.partitions };
      }
      case "put": {
        this.setValue(event.space, event.key, event.value);
        return undefined;
      }
    }
  }

  private setTopic(topic: TopicEntry): TopicEntry {
    this.byName.set(topic.name, topic);
    this.byId.set(topic.id, topic);
    if (topic.table) this.tables.set(topic.name.toLowerCase(), topic);
    return topic;
  }

  private setValue(space: string, key: string, value: unknown): void {
    let values = this.values.get(space);
    if (!values) {
      values = new Map();
      this.values.set(space, values);
    }
    if (value === undefined || value === null) values.delete(key);
    else values.set(key, value);
  }

  private restore(snapshot: Snapshot): void {
    checkFormat(snapshot.format);
    this.eventCount = snapshot.events ?? 0;
    this.clusterId = snapshot.clusterId;
    for (const topic of snapshot.topics) this.setTopic(fromStored(topic));
    for (const [space, key, value] of snapshot.values) this.setValue(space, key, value);
  }

  /** What is durable now, as the content of the file `1.snapshot` of a catalog's folder that holds nothing else. */
  exported(): Uint8Array {
    return frameOf(this.snapshot());
  }

  private takeSnapshot(): void {
    this.journal.snapshot(this.snapshot());
  }

  private snapshot(): Uint8Array {
    const snapshot: Snapshot = {
      format: formatVersion,
      events: this.eventCount,
      clusterId: this.clusterId,
      topics: [...this.byName.values()].map(toStored),
      values: [...this.values].flatMap(([space, map]) =>
        [...map].map(([key, value]): [string, string, unknown] => [space, key, value]),
      ),
    };
    return new TextEncoder().encode(JSON.stringify(snapshot));
  }
}

function checkFormat(format: number): void {
  if (format > formatVersion) {
    const message = `The lake has format ${format}, this version of Rowlog knows formats up to ${formatVersion}: use a newer version`;
    throw new JournalError(message);
  }
}

function fromStored(stored: StoredTopic): TopicEntry {
  const { configs, internal, ...rest } = stored;
  return { ...rest, configs: new Map(Object.entries(configs)), internal: internal === true };
}

function toStored(topic: TopicEntry): StoredTopic {
  const { configs, internal, ...rest } = topic;
  return { ...rest, configs: Object.fromEntries(configs), ...(internal ? { internal: true as const } : {}) };
}
