// The violations of axe-core's rules, as "rule: element"; it has to be loaded before.
axe.run(document, { resultTypes: ["violations", "incomplete"], runOnly: TAGS }).then(({ violations, incomplete }) => {
  // axe-core leaves the contrast of single characters, such as digits, to people.
  const isShort = ({ any: [check] }) =>
    check?.data?.messageKey === "shortTextContent" &&
    check.data.contrastRatio > 0 &&
    check.data.contrastRatio < parseFloat(check.data.expectedContrastRatio);
  const short = incomplete
    .filter((rule) => rule.id === "color-contrast")
    .map((rule) => ({ ...rule, nodes: rule.nodes.filter(isShort) }));
  const words = (check) => `${check.message} ${check.data?.contrastRatio ? JSON.stringify(check.data) : ""}`;
  return [...violations, ...short].flatMap((rule) =>
    rule.nodes.slice(0, 3).map((node) => `${rule.id}: ${node.html.slice(0, 120)} ${node.any.map(words).join("; ")}`),
  );
})
