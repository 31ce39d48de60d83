// Writes a workbook: one sheet for each table, numbers as numbers. A workbook is a zip of XML
// files;
// they are stored uncompressed, which every spreadsheet reads.

/** @param {string} text */
const xml = text =>
  text
    // Control characters are not allowed in XML.
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');

/** `A`, `B`, …, `AA`. @param {number} at */
function columnName(at) {
  let name = '';
  for (let rest = at + 1; rest > 0; rest = Math.floor((rest - 1) / 26))
    name = String.fromCharCode(65 + ((rest - 1) % 26)) + name;
  return name;
}

/** @param {any} value @param {string} place */
function cellXml(value, place) {
  if (value === null || value === undefined || value === '') return '';
  if (typeof value === 'number' && Number.isFinite(value)) return `<c r="${place}"><v>${value}</v></c>`;
  if (typeof value === 'boolean') return `<c r="${place}" t="b"><v>${value ? 1 : 0}</v></c>`;
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  // A cell holds at most 32,767 characters.
  const body = xml(text.slice(0, 32_767));
  return `<c r="${place}" t="inlineStr"><is><t xml:space="preserve">${body}</t></is></c>`;
}

/** @param {string[]} columns @param {Cell[][]} rows */
function sheetXml(columns, rows) {
  const lines = [columns, ...rows].map(
    (row, at) =>
      `<row r="${at + 1}">${row.map((value, place) => cellXml(value, columnName(place) + (at + 1))).join('')}</row>`,
  );
  return (
    '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>' +
    '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>' +
    `${lines.join('')}</sheetData></worksheet>`
  );
}

/** Names of sheets: at most 31 letters, none of `[]:*?/\`, each once. @param {string[]} titles */
export function sheetNames(titles) {
  /** @type {string[]} */
  const names = [];
  for (const title of titles) {
    const plain =
      title
        .replace(/[[\]:*?/\\']/g, ' ')
        .trim()
        .slice(0, 31) || 'Table';
    let name = plain;
    for (let n = 2; names.some(one => one.toLowerCase() === name.toLowerCase()); n += 1)
      name = `${plain.slice(0, 28)} ${n}`;
    names.push(name);
  }
  return names;
}

const TABLE = Array.from({ length: 256 }, (_, n) => {
  let value = n;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value >>> 0;
});
/** @param {Uint8Array} bytes */
function crc32(bytes) {
  let value = 0xffffffff;
  for (const byte of bytes) value = (value >>> 8) ^ TABLE[(value ^ byte) & 0xff];
  return (value ^ 0xffffffff) >>> 0;
}

/** @param {[string, string][]} files names and contents @returns {Uint8Array<ArrayBuffer>} */
export function zip(files) {
  const encoder = new TextEncoder();
  /** @type {Uint8Array[]} */
  const parts = [];
  /** @type {Uint8Array[]} */
  const index = [];
  let at = 0;
  for (const [name, content] of files) {
    const [path, body] = [encoder.encode(name), encoder.encode(content)];
    const head = new DataView(new ArrayBuffer(30));
    const entry = new DataView(new ArrayBuffer(46));
    // The fields that both headers share, at their places; the date is 1 January 1980.
    for (const [view, from, signature] of /** @type {[DataView, number, number][]} */ ([
      [head, 4, 0x04034b50],
      [entry, 6, 0x02014b50],
    ])) {
      view.setUint32(0, signature, true);
      view.setUint16(from, 20, true);
      view.setUint16(from + 2, 0x0800, true);
      view.setUint16(from + 8, 0x21, true);
      view.setUint32(from + 10, crc32(body), true);
      view.setUint32(from + 14, body.length, true);
      view.setUint32(from + 18, body.length, true);
      view.setUint16(from + 22, path.length, true);
    }
    entry.setUint16(4, 20, true);
    entry.setUint32(42, at, true);
    index.push(new Uint8Array(entry.buffer), path);
    parts.push(new Uint8Array(head.buffer), path, body);
    at += 30 + path.length + body.length;
  }
  const size = index.reduce((sum, part) => sum + part.length, 0);
  const end = new DataView(new ArrayBuffer(22));
  end.setUint32(0, 0x06054b50, true);
  end.setUint16(8, files.length, true);
  end.setUint16(10, files.length, true);
  end.setUint32(12, size, true);
  end.setUint32(16, at, true);
  const whole = new Uint8Array(at + size + 22);
  let place = 0;
  for (const part of [...parts, ...index, new Uint8Array(end.buffer)]) {
    whole.set(part, place);
    place += part.length;
  }
  return whole;
}

/**
 * A workbook of these tables.
 * @param {{ title: string, columns: string[], rows: Cell[][] }[]} tables @returns {Blob}
 */
export function workbook(tables) {
  const names = sheetNames(tables.map(table => table.title));
  const head = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>';
  const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
  const office = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
  const packaged = 'http://schemas.openxmlformats.org/package/2006';
  const kind = 'application/vnd.openxmlformats-officedocument.spreadsheetml';
  /** @type {[string, string][]} */
  const files = [
    [
      '[Content_Types].xml',
      `${head}<Types xmlns="${packaged}/content-types">` +
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>' +
        `<Override PartName="/xl/workbook.xml" ContentType="${kind}.sheet.main+xml"/>` +
        names
          .map(
            (_, n) =>
              `<Override PartName="/xl/worksheets/sheet${n + 1}.xml" ContentType="${kind}.worksheet+xml"/>`,
          )
          .join('') +
        '</Types>',
    ],
    [
      '_rels/.rels',
      `${head}<Relationships xmlns="${packaged}/relationships">` +
        `<Relationship Id="rId1" Type="${office}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
    ],
    [
      'xl/workbook.xml',
      `${head}<workbook xmlns="${main}" xmlns:r="${office}"><sheets>` +
        names
          .map((name, n) => `<sheet name="${xml(name)}" sheetId="${n + 1}" r:id="rId${n + 1}"/>`)
          .join('') +
        '</sheets></workbook>',
    ],
    [
      'xl/_rels/workbook.xml.rels',
      `${head}<Relationships xmlns="${packaged}/relationships">` +
        names
          .map(
            (_, n) =>
              `<Relationship Id="rId${n + 1}" Type="${office}/worksheet" Target="worksheets/sheet${n + 1}.xml"/>`,
          )
          .join('') +
        '</Relationships>',
    ],
    ...tables.map(
      (table, n) =>
        /** @type {[string, string]} */ ([
          `xl/worksheets/sheet${n + 1}.xml`,
          sheetXml(table.columns, table.rows),
        ]),
    ),
  ];
  return new Blob([zip(files)], { type: `${kind}.sheet` });
}
