"use strict";
// Choosing: solvers, a question, an instance and a text; what is chosen stands in the address after the #.
const form = document.querySelector("form.controls");
const boxes = [...form.querySelectorAll("input[name=solver]")];
const chosen = { question: form.elements.question, instance: form.elements.instance, text: form.elements.text };

function keep(row, roles, needle) {
  for (const [column, role] of roles) {
    const said = row.cells[column].textContent;
    if (role === "solver" ? !shown.has(said) : chosen[role].value && chosen[role].value !== said) return false;
  }
  return !needle || row.textContent.toLowerCase().includes(needle);
}

function filterTable(table, needle) {
  const heads = [...table.tHead.rows[0].cells];
  const roles = heads.map((head, i) => [i, head.dataset.role]).filter(([, role]) => role);
  const hidden = heads.map((head) => head.dataset.solver !== undefined && !shown.has(head.dataset.solver));
  const changed = table.filtered !== hidden.join();
  if (changed) heads.forEach((head, i) => { head.hidden = hidden[i]; });
  for (const row of table.tBodies[0].rows) {
    if (roles.length) row.hidden = !keep(row, roles, needle);
    if (changed) [...row.cells].forEach((cell, i) => { cell.hidden = hidden[i]; });
  }
  table.filtered = hidden.join();
}

function filter() {
  shown.clear();
  for (const box of boxes) if (box.checked) shown.add(box.value);
  const needle = chosen.text.value.trim().toLowerCase();
  for (const table of document.querySelectorAll("table[data-name]")) filterTable(table, needle);
  for (const figure of document.querySelectorAll("figure[data-figure]")) {
    const off = (role) => chosen[role].value && figure.dataset[role] && figure.dataset[role] !== chosen[role].value;
    figure.hidden = Boolean(off("question") || off("instance"));
  }
  form.querySelector(".state").textContent = `${shown.size} of ${boxes.length} solvers are shown.`;
}

function remember() {
  const state = new URLSearchParams();
  const hidden = boxes.filter((box) => !box.checked).map((box) => box.value);
  for (const name of hidden) state.append("hide", name);
  for (const [name, input] of Object.entries(chosen)) if (input.value) state.set(name, input.value);
  for (const table of document.querySelectorAll("table[data-name]")) {
    const sorted = table.tHead.querySelector("th[aria-sort]");
    if (sorted) state.append("sort", `${table.dataset.name}:${sorted.cellIndex}:${sorted.getAttribute("aria-sort")}`);
  }
  history.replaceState(null, "", `#${state}`);
}

function restore() {
  const state = new URLSearchParams(location.hash.slice(1));
  const hidden = new Set(state.getAll("hide"));
  for (const box of boxes) box.checked = !hidden.has(box.value);
  for (const [name, input] of Object.entries(chosen)) {
    input.value = state.get(name) || "";
    if (input.selectedIndex === -1) input.value = "";
  }
  for (const one of state.getAll("sort")) {
    const [name, column, order] = one.split(":");
    const table = [...document.querySelectorAll("table[data-name]")].find((candidate) => candidate.dataset.name === name);
    const head = table && table.tHead.rows[0].cells[Number(column)];
    if (head && (order === "ascending" || order === "descending")) sortTable(table, Number(column), order);
  }
}

function changed() {
  filter();
  remember();
  if (run.figures.length) all(refresh);
}

addEventListener("load", () => {
  form.hidden = false;
  const many = form.querySelectorAll("input[type=checkbox]").length > 12;
  if (many || matchMedia("(max-width: 40rem)").matches) form.querySelector("details").open = false;
  restore();
  filter();
  if (run.figures.length) all(draw);
  form.addEventListener("input", changed);
  form.addEventListener("submit", (event) => event.preventDefault());
  for (const [name, on] of [["all", true], ["none", false]]) {
    form.querySelector(`button[data-${name}]`).addEventListener("click", () => {
      for (const box of boxes) box.checked = on;
      changed();
    });
  }
  document.addEventListener("sorted", remember);
  addEventListener("hashchange", () => { restore(); changed(); });
});
