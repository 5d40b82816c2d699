// Names that the theme gives to its controls, brought in line with what the controls show.
for (const control of document.querySelectorAll(".search-button-field, details.hide > summary")) {
  control.removeAttribute("aria-label");
}
for (const icon of document.querySelectorAll(".theme-switch")) {
  icon.removeAttribute("title");
}
// The title of the book stands in the sidebar, which is no landmark by itself.
document.getElementById("pst-primary-sidebar")?.setAttribute("role", "complementary");
// The empty corner of a pandas table is not a heading.
for (const corner of document.querySelectorAll("table.dataframe th:empty")) {
  corner.replaceWith(document.createElement("td"));
}
// The entries of the bibliography are not the list items that its role promises.
for (const list of document.querySelectorAll(".citation-list")) {
  list.removeAttribute("role");
  for (const entry of list.querySelectorAll(".citation")) entry.removeAttribute("role");
}
