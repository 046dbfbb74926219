for (const head of document.querySelectorAll("th")) head.onclick = () => {
  const at = [...head.parentNode.children].indexOf(head), body = head.closest("table").tBodies[0];
  const up = !head.classList.contains("up");
  for (const other of head.parentNode.children) other.classList.remove("up", "down");
  head.classList.add(up ? "up" : "down");
  const text = row => row.cells[at].textContent, value = row => parseFloat(text(row));
  const numeric = body.rows.length && [...body.rows].every(row => text(row) === "" || !isNaN(value(row)));
  const order = (a, b) => numeric ? (text(a) === "") - (text(b) === "") || (up ? 1 : -1) * (value(a) - value(b))
                                  : (up ? 1 : -1) * text(a).localeCompare(text(b));
  body.append(...[...body.rows].sort(order));
};
