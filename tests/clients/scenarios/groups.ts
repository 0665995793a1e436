/** Scenarios about consumer groups: resuming, sharing partitions, leaving. */
import type { Driver } from "../driver.ts";
import { asText, plainRecord, range, type Scenario, type Stage } from "../scenario.ts";

const partitions = range(0, 4);

/** Produces `values` "from" to "to" (exclusive) into each of `to` partitions. */
async function fill(
  stage: Stage,
  driver: Driver,
  topic: string,
  places: readonly number[],
  from: number,
  to: number,
): Promise<void> {
  const records = places.flatMap((partition) =>
    range(from, to).map((index) => plainRecord(`${partition}`, `${index}`, partition)),
  );
  await driver.must("produce", {
    bootstrap: stage.bootstrap,
    topic,
    acks: "all",
    codec: "none",
    idempotent: true,
    records,
  });
}

/** "partition:offset" of each record that a member was given, in order, from the `from`th on. */
function received(driver: Driver, consumer: string, from = 0): string[] {
  return driver
    .records(consumer)
    .slice(from)
    .map((record) => `${record.partition}:${record.offset}`);
}

const places = (numbers: readonly number[], from: number, to: number): string[] =>
  numbers.flatMap((partition) => range(from, to).map((offset) => `${partition}:${offset}`));

const holdsAll = (list: readonly string[], wanted: readonly string[]) => wanted.every((place) => list.includes(place));

async function resume(stage: Stage): Promise<unknown> {
  const topic = await stage.topic("t", 1);
  const producer = stage.driver();
  const settings = { bootstrap: stage.bootstrap, group: stage.unique("g"), topic, assignor: "range" };
  await fill(stage, producer, topic, [0], 0, 20);
  const first = stage.driver();
  await first.must("join", { ...settings, consumer: "c" });
  await first.until("the first 20 records", () => first.records("c").length >= 20);
  const before = received(first, "c");
  await first.must("commit", { consumer: "c", offsets: { 0: 15 } });
  await first.kill();
  await fill(stage, producer, topic, [0], 20, 50);
  const second = stage.driver();
  await second.must("join", { ...settings, consumer: "c" });
  await second.until("the record at offset 49", () => received(second, "c").includes("0:49"));
  const values = second.records("c").map((record) => asText(record.value));
  await second.must("leave", { consumer: "c" });
  return { before, after: received(second, "c"), values };
}

interface Pair {
  topic: string;
  producer: Driver;
  a: Driver;
  b: Driver;
  settings: object;
}

/** Two members of one group that have shared the four partitions, two each, with 5 records of each partition read and committed. */
async function pair(stage: Stage, assignor: "range" | "cooperative", instances: boolean): Promise<Pair> {
  const topic = await stage.topic("t", partitions.length);
  const producer = stage.driver();
  // A static member must be back within its session, however long its program takes to start on a busy machine.
  const session = instances ? { sessionMs: 30_000 } : {};
  const settings = { bootstrap: stage.bootstrap, group: stage.unique("g"), topic, assignor, ...session };
  await fill(stage, producer, topic, partitions, 0, 5);
  const a = stage.driver();
  await a.must("join", { ...settings, consumer: "a", ...(instances ? { instanceId: "instance-a" } : {}) });
  await a.until("a has all four partitions", () => a.assignment("a")?.length === 4);
  await a.until("a has the first records", () => holdsAll(received(a, "a"), places(partitions, 0, 5)));
  await a.must("commit", { consumer: "a", offsets: Object.fromEntries(partitions.map((partition) => [partition, 5])) });
  const b = stage.driver();
  await b.must("join", { ...settings, consumer: "b", ...(instances ? { instanceId: "instance-b" } : {}) });
  await b.until("b has two partitions", () => b.assignment("b")?.length === 2);
  await a.until("a has two partitions", () => a.assignment("a")?.length === 2);
  return { topic, producer, a, b, settings };
}

async function twoMembers(stage: Stage, assignor: "range" | "cooperative"): Promise<unknown> {
  const { topic, producer, a, b } = await pair(stage, assignor, false);
  const [ofA, ofB] = [a.assignment("a") ?? [], b.assignment("b") ?? []];
  const countA = a.records("a").length;
  await fill(stage, producer, topic, partitions, 5, 10);
  await a.until("a has its share", () => holdsAll(received(a, "a"), places(ofA, 5, 10)));
  await b.until("b has its share", () => holdsAll(received(b, "b"), places(ofB, 5, 10)));
  const once = (list: string[]) => (stage.client.repeats ? [...new Set(list)] : list).sort();
  const shared = once([...received(a, "a", countA), ...received(b, "b")]);
  for (const [driver, consumer, mine] of [[a, "a", ofA] as const, [b, "b", ofB] as const]) {
    await driver.must("commit", { consumer, offsets: Object.fromEntries(mine.map((partition) => [partition, 10])) });
  }
  await b.must("leave", { consumer: "b" });
  await a.until("a has all four partitions again", () => a.assignment("a")?.length === 4);
  const countAfter = a.records("a").length;
  await fill(stage, producer, topic, partitions, 10, 15);
  await a.until("a has the last records", () => holdsAll(received(a, "a"), places(partitions, 10, 15)));
  return {
    together: [...ofA, ...ofB].sort(),
    sizes: [ofA.length, ofB.length],
    shared,
    afterLeaving: once(received(a, "a", countAfter)),
  };
}

/** A static member that dies and comes back within its session gets its partitions back, and the other member is left in peace. */
async function staticMembers(stage: Stage): Promise<unknown> {
  const { topic, producer, a, b, settings } = await pair(stage, "range", true);
  const [ofA, ofB] = [a.assignment("a") ?? [], b.assignment("b") ?? []];
  const changesOfA = a.events.filter((event) => event.event === "assignment").length;
  await b.kill();
  const again = stage.driver();
  await again.must("join", { ...settings, consumer: "b", instanceId: "instance-b" });
  await again.until("b has two partitions again", () => again.assignment("b")?.length === 2);
  await fill(stage, producer, topic, partitions, 5, 10);
  await a.until("a has its share", () => holdsAll(received(a, "a"), places(ofA, 5, 10)));
  await again.until("b has its share", () => holdsAll(received(again, "b"), places(ofB, 5, 10)));
  return {
    together: [...ofA, ...ofB].sort(),
    samePartitions: JSON.stringify(again.assignment("b")) === JSON.stringify(ofB),
    changesOfTheOther: a.events.filter((event) => event.event === "assignment").length - changesOfA,
    receivedByB: received(again, "b")
      .sort()
      .map((place) => place.split(":")[1]),
  };
}

export const groupScenarios: readonly Scenario[] = [
  { name: "group-resume", run: resume },
  { name: "two-members-eager", run: (stage) => twoMembers(stage, "range") },
  {
    name: "two-members-cooperative",
    applies: (client) => client.cooperative,
    run: (stage) => twoMembers(stage, "cooperative"),
  },
  { name: "static-members", applies: (client) => client.static, run: staticMembers },
];
