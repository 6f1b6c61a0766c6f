"use strict";
// Sorting: numbers by value, words by the alphabet, missing ones last whichever way.
function sortKey(row, column) {
  const cell = row.cells[column];
  const text = cell.dataset.key;
  if (text === undefined) return cell.textContent;
  return text === "" ? NaN : text === "inf" ? Infinity : text === "-inf" ? -Infinity : Number(text);
}

function sortTable(table, column, order) {
  const sign = order === "ascending" ? 1 : -1;
  const keyed = [...table.tBodies[0].rows].map((row) => [sortKey(row, column), row]);
  const missing = (x) => Number.isNaN(x) || x === "";
  keyed.sort(([x], [y]) => {
    if (missing(x) || missing(y)) return missing(x) - missing(y);
    return sign * (typeof x === "number" && typeof y === "number" ? (x > y) - (x < y) : String(x).localeCompare(String(y)));
  });
  for (const head of table.tHead.rows[0].cells) head.removeAttribute("aria-sort");
  table.tHead.rows[0].cells[column].setAttribute("aria-sort", order);
  table.tBodies[0].append(...keyed.map(([, row]) => row));
}

for (const table of document.querySelectorAll("table.sortable")) {
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      sortTable(table, column, head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending");
      document.dispatchEvent(new Event("sorted"));
    });
  });
}
