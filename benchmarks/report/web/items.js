// Chips show the rows of one verdict, the search those that hold a text; the address keeps both.
(() => {
  const chips = [...document.querySelectorAll(".chips [data-verdict]")];
  const search = document.getElementById("find");
  const state = document.getElementById("shown");
  const rows = [...document.querySelectorAll(".items tbody tr[data-verdict]")].map((row) => ({
    row, why: row.nextElementSibling, verdict: row.dataset.verdict, text: `${row.textContent} ${row.nextElementSibling.textContent}`.toLowerCase(),
  }));
  const sections = [...document.querySelectorAll("section[data-source]")];
  let verdict = "";

  function show() {
    const wanted = search.value.trim().toLowerCase();
    let count = 0;
    for (const one of rows) {
      const kept = (!verdict || one.verdict === verdict) && one.text.includes(wanted);
      one.row.hidden = one.why.hidden = !kept;
      count += kept;
    }
    for (const section of sections) {
      const table = section.querySelector(".items");
      const some = Boolean(section.querySelector("tbody tr:not([hidden])"));
      table.hidden = !some;
      section.querySelector(".none").hidden = some;
    }
    for (const chip of chips) chip.setAttribute("aria-pressed", String(chip.dataset.verdict === verdict));
    state.textContent = `${count} of ${rows.length} items are shown.`;
  }

  function choose(name) {
    verdict = name;
    history.replaceState(null, "", `#verdict=${encodeURIComponent(verdict || "all")}`);
    show();
  }

  const asked = new URLSearchParams(location.hash.slice(1)).get("verdict");
  const first = document.querySelector(".chips").dataset.first;
  const known = chips.some((chip) => chip.dataset.verdict === asked);
  const linked = rows.some((one) => one.row.id && `#${one.row.id}` === location.hash);
  verdict = asked === "all" || linked ? "" : known ? asked : first;
  for (const chip of chips) chip.addEventListener("click", () => choose(chip.dataset.verdict));
  search.addEventListener("input", show);
  document.querySelector(".chips").hidden = false;
  search.closest("form").hidden = false;
  search.closest("form").addEventListener("submit", (event) => event.preventDefault());
  show();
})();
