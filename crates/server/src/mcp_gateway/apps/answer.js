// An answer: its text, charts and tables, and how sure it is.
const MOST_ROWS = 200;

function table(data) {
  const figure = element("figure");
  figure.append(element("figcaption", data.title || data.name));
  const scroll = element("div", null, "scroll");
  const made = element("table");
  const head = element("tr");
  for (const column of data.columns || []) head.append(element("th", column.name || column));
  made.append(head);
  const rows = data.rows || [];
  for (const row of rows.slice(0, MOST_ROWS)) {
    const line = element("tr");
    for (const cell of row) {
      line.append(element("td", cell, typeof cell === "number" ? "number" : ""));
    }
    made.append(line);
  }
  scroll.append(made);
  figure.append(scroll);
  if (rows.length > MOST_ROWS) {
    figure.append(element("p", `${MOST_ROWS} of ${rows.length} rows are shown.`, "note"));
  } else if (data.truncated) {
    figure.append(element("p", "The query has more rows.", "note"));
  }
  return figure;
}

function chart(image, about) {
  const figure = element("figure");
  const picture = element("img");
  picture.src = `data:image/png;base64,${image.data}`;
  picture.alt = about ? `Chart: ${about}` : "Chart";
  figure.append(picture);
  return figure;
}

start("steward-answer", (result) => {
  const main = document.querySelector("main");
  main.replaceChildren();
  const content = result.content || [];
  const data = result.structuredContent || {};
  const texts = content.filter((part) => part.type === "text").map((part) => part.text);
  main.append(element("p", data.answer || texts.join("\n"), "answer"));
  if (result.isError) return;
  const images = content.filter((part) => part.type === "image" && part.mimeType === "image/png");
  images.forEach((image, at) => main.append(chart(image, (data.charts || [])[at]?.title)));
  for (const one of data.tables || []) main.append(table(one));
  if (data.rows && data.columns) main.append(table(data));
  for (const line of data.assumptions || []) {
    main.append(element("p", typeof line === "string" ? line : JSON.stringify(line), "note"));
  }
  if (data.confidence) main.append(element("p", `Confidence: ${data.confidence}`, "note"));
});
