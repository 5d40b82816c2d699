// A tap on a figure, or the button below its caption, shows it as large as the screen.
for (const figure of document.querySelectorAll("figure.course-figure:not(.live)")) {
  const button = Object.assign(document.createElement("button"), {
    type: "button",
    className: "enlarge",
    textContent: "Enlarge",
  });
  const open = () => {
    const dialog = document.createElement("dialog");
    dialog.className = "enlarged";
    dialog.setAttribute("aria-label", "The figure, enlarged");
    const copy = figure.cloneNode(true);
    copy.querySelector(".enlarge").remove();
    const close = Object.assign(document.createElement("button"), {
      type: "button",
      textContent: "Close",
    });
    close.addEventListener("click", () => dialog.close());
    dialog.append(close, copy);
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
    dialog.addEventListener("close", () => {
      dialog.remove();
      button.focus({ preventScroll: true });
    });
    document.body.append(dialog);
    dialog.showModal();
  };
  button.addEventListener("click", open);
  for (const picture of figure.querySelectorAll("svg")) picture.addEventListener("click", open);
  figure.append(button);
}
