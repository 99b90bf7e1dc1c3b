"""Links between committed documents lead somewhere, headings included."""

import re
from pathlib import Path

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)


def anchors(text: str) -> set[str]:
    """The fragments under which a page's headings can be reached, as GitHub makes them."""
    headings = re.findall(r"^#{1,6}\s+(.+?)\s*$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(page: Path, text: str) -> list[str]:
    problems = []
    for found in LINK.finditer(FENCE.sub("", text)):
        link = found.group(1) or found.group(2)
        if re.match(r"[a-z]+:", link):
            continue
        path, _, fragment = link.partition("#")
        target = page.parent / path if path else page
        if path and not target.exists():
            problems.append(f"{page.name}: {link}")
        elif fragment and target.suffix == ".md":
            content = text if target == page else target.read_text(encoding="utf-8")
            if fragment not in anchors(content):
                problems.append(f"{page.name}: {link}")
    return problems


def test_links_between_documents_lead_somewhere(root, committed_files):
    pages = [path for path in committed_files if path.suffix == ".md" and "models" not in path.relative_to(root).parts]
    assert root / "README.md" in pages
    problems = [problem for page in pages for problem in broken_links(page, page.read_text(encoding="utf-8"))]
    assert not problems, "\n".join(problems)


def test_the_rule_sees_a_broken_link(tmp_path):
    (tmp_path / "other.md").write_text("# A heading: here\n", encoding="utf-8")
    page = tmp_path / "page.md"
    good = "[a](other.md) [b](other.md#a-heading-here) [c](https://example.org/x) [d](#top)\n# Top\n"
    bad = "[a](gone.md) [b](other.md#gone) ![c](gone.png) [d](#gone)\n"
    assert broken_links(page, good + "```\n[e](gone.md)\n```\n") == []
    assert len(broken_links(page, bad)) == 4
