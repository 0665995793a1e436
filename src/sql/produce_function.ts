/**
 * `produce(topic, key, value [, headers])` and `produce(topic, partition, key, value, headers)`: a record that is appended with the
 * transaction's commit. The calls only note the records, in their order; whoever runs the statement gets them with its answer.
 *
 * The function takes a further, volatile argument first: DuckDB would else compute a call with constants once for all rows.
 */
import type { EngineCore } from "./engine_core.ts";
import type { ProducedRecord } from "./messages.ts";
import type { ScalarFunction } from "./scalar_bridge.ts";

/** Bytes travel as their digits, because the bridge takes neither BLOB nor a NULL without a type. */
const call = (partition: string, headers: string) =>
  `_rowlog_produce(random(), CAST(topic AS VARCHAR), CAST(${partition} AS INTEGER), hex(key), typeof(key), hex(value), typeof(value), ${headers})`;

export const produceMacros = [
  `CREATE OR REPLACE MACRO produce(topic, key, value) AS ${call("NULL", "NULL::VARCHAR")},
    (topic, key, value, headers) AS ${call("NULL", "_rowlog_headers(headers)")},
    (topic, partition, key, value, headers) AS ${call("partition", "_rowlog_headers(headers)")}`,
];

/** Text that `headersOf` reads: names and values in hexadecimal digits. */
export const headerMacros = [
  `CREATE OR REPLACE MACRO _rowlog_headers(headers) AS CAST(array_to_string(
    list_transform(map_entries(headers), lambda e: hex(e.key) || ':' || coalesce(hex(e.value), '-')), ',') AS VARCHAR)`,
];

export function produceFunction(core: () => EngineCore): ScalarFunction {
  return {
    name: "_rowlog_produce",
    returns: "int64",
    call(memory, args, row, result) {
      const { produced } = core();
      if (produced === undefined)
        throw new Error(
          "produce() can be called in a SELECT or another statement of its own only, not in a view, a CHECK or a default",
        );
      const text = (index: number): string | null => {
        const argument = args[index]!;
        if (argument.isNull(row)) return null;
        return new TextDecoder().decode(memory.subarray(argument.start(row), argument.end(row)));
      };
      const topic = text(1);
      if (topic === null) throw new Error("produce(): the topic is NULL");
      const partition = args[2]!.isNull(row) ? undefined : args[2]!.number(row);
      if (partition !== undefined && partition < 0) throw new Error(`produce(): there is no partition ${partition}`);
      produced.push({
        topic,
        partition,
        key: bytesOf("key", text(3), text(4)!),
        value: bytesOf("value", text(5), text(6)!),
        headers: headersOf(text(7)),
      });
      result.bigint(BigInt(produced.length));
    },
  };
}

function bytesOf(what: string, digits: string | null, type: string): Uint8Array | null {
  if (digits === null) return null;
  if (type !== "VARCHAR" && type !== "BLOB")
    throw new Error(`produce(): the ${what} must be VARCHAR or BLOB, not ${type}; cast it`);
  return unhex(digits);
}

function headersOf(text: string | null): ProducedRecord["headers"] {
  if (text === null || text === "") return [];
  return text.split(",").map((pair) => {
    const [key, value] = pair.split(":") as [string, string];
    return { key: unhex(key), value: value === "-" ? null : unhex(value) };
  });
}

function unhex(digits: string): Uint8Array {
  const bytes = new Uint8Array(digits.length / 2);
  for (let i = 0; i < bytes.length; i++) bytes[i] = Number.parseInt(digits.slice(i * 2, i * 2 + 2), 16);
  return bytes;
}
