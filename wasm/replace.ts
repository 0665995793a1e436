// A batch's records with other values for some of them; everything else of a record is copied as it is.

/**
 * `records` is the record index of the walk over [plain, …), `spans` two words a record: where its new value begins and ends in `values`,
 * or -1 where it keeps its own. Returns the bytes written at `target`, which has room for the old records, the new values and 10 bytes
 * a record.
 */
export function replaceValues(
  plain: usize,
  records: usize,
  count: i32,
  spans: usize,
  values: usize,
  target: usize,
): i32 {
  let p = plain;
  let to = target;
  for (let i = 0; i < count; i++, records += 28, spans += 8) {
    const from = p;
    let length: u32 = 0;
    let shift: u32 = 0;
    let byte: u32;
    do {
      byte = <u32>load<u8>(p++);
      length |= (byte & 0x7f) << shift;
      shift += 7;
    } while (byte >= 0x80);
    const body = p;
    p += length >>> 1; // The length is zigzag and never negative here.
    const start = load<i32>(spans);
    if (start < 0) {
      memory.copy(to, from, p - from);
      to += p - from;
      continue;
    }
    const keyEnd = plain + <usize>load<i32>(records, 4) + <usize>max<i32>(load<i32>(records, 8), 0);
    const valueEnd = plain + <usize>load<i32>(records, 12) + <usize>max<i32>(load<i32>(records, 16), 0);
    const valueBytes = <u32>(load<i32>(spans, 4) - start);
    const bodyBytes = <u32>(keyEnd - body) + varintSize(valueBytes << 1) + valueBytes + <u32>(p - valueEnd);
    to = writeVarint(to, bodyBytes << 1);
    memory.copy(to, body, keyEnd - body);
    to = writeVarint(to + (keyEnd - body), valueBytes << 1);
    memory.copy(to, values + start, valueBytes);
    to += valueBytes;
    memory.copy(to, valueEnd, p - valueEnd);
    to += p - valueEnd;
  }
  return <i32>(to - target);
}

@inline
function varintSize(zigzag: u32): u32 {
  return zigzag < 0x80 ? 1 : zigzag < 0x4000 ? 2 : zigzag < 0x200000 ? 3 : zigzag < 0x10000000 ? 4 : 5;
}

@inline
function writeVarint(to: usize, zigzag: u32): usize {
  for (; zigzag >= 0x80; zigzag >>>= 7) store<u8>(to++, <u8>(zigzag | 0x80));
  store<u8>(to++, <u8>zigzag);
  return to;
}
