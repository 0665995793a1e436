/** What SQL writes, as clients read it; and clients and SQL writing to one keyed table in turns. */
import { expect } from "bun:test";
import { asText, plainRecord, type Scenario, type Stage } from "../scenario.ts";
import { sql } from "../target.ts";

async function sqlIsAProducer(stage: Stage): Promise<void> {
  const http = stage.target.http!;
  const table = stage.unique("written").replace(/[^a-z0-9]/g, "_");
  const mails = await stage.topic("mails", 1);
  await sql(http, `CREATE TABLE ${table} (id BIGINT PRIMARY KEY, name VARCHAR, price DECIMAL(10,2))`);
  await sql(http, `INSERT INTO ${table} VALUES (1, 'ann', 1.5), (2, 'bob', 2)`);
  const driver = stage.driver();
  const settings = { bootstrap: stage.bootstrap, topic: table, acks: "all", codec: "none", idempotent: true };
  await driver.must("produce", {
    ...settings,
    records: [plainRecord('{"id":2}', '{"id":2,"name":"bo","price":2.50}', 0)],
  });
  await sql(
    http,
    `BEGIN; UPDATE ${table} SET price = price * 2; DELETE FROM ${table} WHERE id = 1;
     SELECT produce('${mails}', name, 'hello ' || name, MAP {'h': 'v'}) FROM ${table}; COMMIT`,
  );
  const group = { bootstrap: stage.bootstrap, group: stage.unique("reader"), assignor: "range" };
  await driver.must("join", { ...group, topic: table, consumer: "rows" });
  await driver.until("all of the table's records", () => driver.records("rows").length >= 6);
  const seen = driver.records("rows").map(({ offset, key, value }) => [offset, asText(key), asText(value)]);
  expect(seen.slice(0, 3)).toEqual([
    [0, '{"id":1}', '{"id":1,"name":"ann","price":1.50}'],
    [1, '{"id":2}', '{"id":2,"name":"bob","price":2.00}'],
    [2, '{"id":2}', '{"id":2,"name":"bo","price":2.50}'],
  ]);
  expect(seen.slice(3, 5).toSorted()).toEqual([
    [3, '{"id":1}', '{"id":1,"name":"ann","price":3.00}'],
    [4, '{"id":2}', '{"id":2,"name":"bo","price":5.00}'],
  ]);
  // kcat shows no value and an empty one alike.
  expect([seen[5]![0], seen[5]![1], seen[5]![2] || null]).toEqual([5, '{"id":1}', null]);
  const mail = stage.driver();
  await mail.must("join", { ...group, group: stage.unique("mail"), topic: mails, consumer: "mails" });
  await mail.until("the mail", () => mail.records("mails").length >= 1);
  expect(mail.records("mails").map(({ key, value }) => [asText(key), asText(value)])).toEqual([["bo", "hello bo"]]);
  expect(await sql(http, `SELECT id, name, price::VARCHAR FROM ${table}`)).toEqual([[2, "bo", "5.00"]]);
}

export const sqlWriteScenarios: Scenario[] = [{ name: "sql-writes", run: sqlIsAProducer }];
