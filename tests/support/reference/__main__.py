"""Write the generated parts of all pages anew."""

from support.reference import every


def main() -> None:
    """Write them."""
    for each in every.PARTS:
        path = each.path
        path.write_text(each.written(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
