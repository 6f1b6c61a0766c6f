"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  const key = (row, column) => {
    const cell = row.cells[column];
    if (cell.dataset.key === undefined) return cell.textContent;
    const text = cell.dataset.key;
    return text === "inf" ? Infinity : text === "-inf" ? -Infinity : Number(text);
  };
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
      const body = table.tBodies[0];
      const rows = [...body.rows].sort((a, b) => {
        const x = key(a, column), y = key(b, column);
        return sign * (typeof x === "number" && typeof y === "number" ? (x > y) - (x < y) : String(x).localeCompare(String(y)));
      });
      body.append(...rows);
    });
  });
}
