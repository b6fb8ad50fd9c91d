"use strict";
for (const table of document.querySelectorAll(".board")) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  const value = (row, column) => row.cells[column].dataset.order;
  const compare = (a, b) => {
    const x = Number(a), y = Number(b);
    return Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b) : x - y;
  };
  heads.forEach((head, column) => head.querySelector("button")?.addEventListener("click", () => {
    const turned = { ascending: "descending", descending: "ascending" };
    const order = turned[head.getAttribute("aria-sort")] || head.dataset.first || "ascending";
    const sign = order === "ascending" ? 1 : -1;
    const rows = [...body.rows].sort((a, b) => {
      const x = value(a, column), y = value(b, column);
      return x === "" || y === "" ? (x === "") - (y === "") : sign * compare(x, y);  // what is unknown comes last
    });
    for (const other of heads) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", order);
    body.append(...rows);
  }));
}
