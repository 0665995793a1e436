/**
 * The table of the `types_*` recordings: every PostgreSQL type, the column here that holds it, and the values that were inserted, as row JSON.
 *
 * The rows: a normal one, the lowest, and the highest values (undefined: NULL was inserted); a fourth has NULL everywhere.
 */

export interface TypeCase {
  column: string;
  /** The column here. */
  type: string;
  normal: string;
  lowest?: string;
  highest?: string;
  /** Missing from the stream's events (PostgreSQL's logical decoding sends no value). */
  onlySnapshot?: true;
}

const text = (value: string) => JSON.stringify(value);

export const typeCases: TypeCase[] = [
  { column: "c_smallint", type: "SMALLINT", normal: "7", lowest: "-32768", highest: "32767" },
  { column: "c_int", type: "INTEGER", normal: "70000", lowest: "-2147483648", highest: "2147483647" },
  {
    column: "c_bigint",
    type: "BIGINT",
    normal: "7000000000",
    lowest: "-9223372036854775808",
    highest: "9223372036854775807",
  },
  { column: "c_real", type: "FLOAT", normal: "1.5", lowest: "-3.4028235e+38", highest: "3.4028235e+38" },
  {
    column: "c_double",
    type: "DOUBLE",
    normal: "2.25",
    lowest: "-1.7976931348623157e+308",
    highest: "1.7976931348623157e+308",
  },
  {
    column: "c_numeric_10_2",
    type: "DECIMAL(10,2)",
    normal: "1234.56",
    lowest: "-99999999.99",
    highest: "99999999.99",
  },
  { column: "c_numeric_5_0", type: "DECIMAL(5,0)", normal: "42", lowest: "-99999", highest: "99999" },
  // Without a scale and wider than any DECIMAL: its digits as text are exact.
  {
    column: "c_numeric",
    type: "VARCHAR",
    normal: text("3.14159265358979323846"),
    lowest: text("-12345678901234567890.123456789"),
    highest: text("10000000000000000000000000000000000000000"),
  },
  {
    column: "c_money",
    type: "DECIMAL(19,2)",
    normal: "1234.56",
    lowest: "-92233720368547758.08",
    highest: "92233720368547758.07",
  },
  { column: "c_bool", type: "BOOLEAN", normal: "true", lowest: "false" },
  { column: "c_char", type: "VARCHAR", normal: text("ab   "), lowest: text("     ") },
  { column: "c_varchar", type: "VARCHAR", normal: text("varchar ä"), lowest: text("") },
  {
    column: "c_text",
    type: "VARCHAR",
    normal: text('text "quoted" €'),
    lowest: text(""),
    highest: text("x".repeat(20)),
  },
  { column: "c_name", type: "VARCHAR", normal: text("a_name"), onlySnapshot: true },
  { column: "c_bytea", type: "BLOB", normal: text("AP8Q"), lowest: text(""), highest: text("/////w==") },
  {
    column: "c_date",
    type: "DATE",
    normal: text("2024-02-29"),
    lowest: text("0001-01-01"),
    highest: text("9999-12-31"),
  },
  {
    column: "c_time",
    type: "TIME",
    normal: text("12:34:56.789012"),
    lowest: text("00:00:00"),
    highest: text("24:00:00"),
  },
  {
    column: "c_time_3",
    type: "TIME",
    normal: text("12:34:56.789"),
    lowest: text("00:00:00"),
    highest: text("24:00:00"),
  },
  // The same moment of the day in UTC: 12:34:56.789012+02, 00:00+15:59 and 24:00-15:59 were inserted.
  {
    column: "c_timetz",
    type: "TIME",
    normal: text("10:34:56.789012"),
    lowest: text("08:01:00"),
    highest: text("15:59:00"),
  },
  {
    column: "c_timestamp",
    type: "TIMESTAMP",
    normal: text("2024-02-29T12:34:56.789012"),
    lowest: text("1900-01-01T00:00:00.000001"),
    highest: text("9999-12-31T23:59:59.999999"),
  },
  {
    column: "c_timestamp_0",
    type: "TIMESTAMP_S",
    normal: text("2024-02-29T12:34:56"),
    lowest: text("1900-01-01T00:00:00"),
    highest: text("9999-12-31T23:59:59"),
  },
  {
    column: "c_timestamp_3",
    type: "TIMESTAMP_MS",
    normal: text("2024-02-29T12:34:56.789"),
    lowest: text("1900-01-01T00:00:00.001"),
    highest: text("9999-12-31T23:59:59.999"),
  },
  {
    column: "c_timestamptz",
    type: "TIMESTAMP WITH TIME ZONE",
    normal: text("2024-02-29T10:34:56.789012Z"),
    lowest: text("1900-01-01T00:00:00.000001Z"),
    highest: text("9999-12-31T23:59:59.999999Z"),
  },
  // The connector sends microseconds, a month being 30.4375 days; only interval.handling.mode=string has the parts.
  {
    column: "c_interval",
    type: "INTERVAL",
    normal: text("10303:05:06.789012"),
    lowest: text("-10303:05:06.789012"),
    highest: text("2562047788:00:54.775807"),
  },
  { column: "c_uuid", type: "UUID", normal: text("01234567-89ab-cdef-0123-456789abcdef") },
  { column: "c_json", type: "JSON", normal: '{"b": 1,  "a": [1, 2, null]}' },
  { column: "c_jsonb", type: "JSON", normal: '{"a": [1, 2, null], "b": 1}' },
  { column: "c_xml", type: "VARCHAR", normal: text('<r a="1">x</r>') },
  { column: "c_inet", type: "VARCHAR", normal: text("192.0.2.1/24") },
  { column: "c_cidr", type: "VARCHAR", normal: text("192.0.2.0/24") },
  { column: "c_macaddr", type: "VARCHAR", normal: text("02:00:5e:10:00:01") },
  { column: "c_macaddr8", type: "VARCHAR", normal: text("02:00:5e:ff:fe:10:00:01") },
  { column: "c_bit", type: "BOOLEAN", normal: "true" },
  { column: "c_bit_5", type: "VARCHAR", normal: text("10101"), lowest: text("00000") },
  // B'1011' and B'' in a varbit(10), whose own length the event does not tell; B'110011001100' as little-endian bytes.
  { column: "c_varbit", type: "VARCHAR", normal: text("0000001011"), lowest: text("0000000000") },
  { column: "c_varbit_any", type: "BLOB", normal: text("zAw=") },
  { column: "c_int_array", type: "INTEGER[]", normal: "[1,null,3]", lowest: "[]" },
  { column: "c_text_array", type: "VARCHAR[]", normal: '["a","b c",null,"d,e"]', lowest: "[]" },
  { column: "c_numeric_array", type: "DECIMAL(10,2)[]", normal: "[1.50,2.25]" },
  { column: "c_timestamptz_array", type: "TIMESTAMP WITH TIME ZONE[]", normal: '["2024-02-29T10:34:56.789012Z"]' },
  { column: "c_bool_array", type: "BOOLEAN[]", normal: "[true,false,null]" },
  { column: "c_uuid_array", type: "UUID[]", normal: '["01234567-89ab-cdef-0123-456789abcdef"]' },
  { column: "c_bytea_array", type: "BLOB[]", normal: '["AP8="]' },
  { column: "c_enum", type: "ENUM('sad', 'ok', 'happy')", normal: text("ok") },
  { column: "c_enum_array", type: "ENUM('sad', 'ok', 'happy')[]", normal: '["sad","happy"]' },
  { column: "c_domain", type: "INTEGER", normal: "5" },
  { column: "c_hstore", type: "MAP(VARCHAR, VARCHAR)", normal: '{"k1":"v1","k2":null}', lowest: "{}" },
  { column: "c_ltree", type: "VARCHAR", normal: text("Top.Science.Astronomy") },
  { column: "c_citext", type: "VARCHAR", normal: text("CiText") },
  { column: "c_int4range", type: "VARCHAR", normal: text("[1,10)"), lowest: text("empty") },
  { column: "c_int8range", type: "VARCHAR", normal: text("[1,10)") },
  { column: "c_numrange", type: "VARCHAR", normal: text("[1.5,2.5]") },
  { column: "c_tsrange", type: "VARCHAR", normal: text('["2024-01-01 00:00:00","2024-02-01 00:00:00")') },
  { column: "c_tstzrange", type: "VARCHAR", normal: text('["2024-01-01 00:00:00+00","2024-02-01 00:00:00+00")') },
  { column: "c_daterange", type: "VARCHAR", normal: text("[2024-01-01,2024-02-01)") },
  { column: "c_point", type: "VARCHAR", normal: text("(1.5,-2.5)") },
  { column: "c_tsvector", type: "VARCHAR", normal: text("'a' 'cat' 'fat'") },
  { column: "c_oid", type: "UINTEGER", normal: "12345", highest: "4294967295" },
];

/** Types that the connector leaves out of its events. */
export const neverSent = ["c_line", "c_box", "c_circle", "c_polygon", "c_composite", "c_pg_lsn"];

export const typeColumns: Record<string, string> = {
  id: "INTEGER",
  ...Object.fromEntries(typeCases.map(({ column, type }) => [column, type])),
};

/** What the row of that id holds, by column: ids 1 to 4 from the snapshot, 11 to 14 from the stream. */
export function expectedRow(id: number, cases: readonly TypeCase[] = typeCases): Record<string, string> {
  const which = (id % 10) - 1;
  const row: Record<string, string> = { id: String(id) };
  for (const one of cases) {
    const value = [one.normal, undefined, one.lowest, one.highest][which];
    row[one.column] = value === undefined || (one.onlySnapshot && id > 10) ? "null" : value;
  }
  return row;
}
