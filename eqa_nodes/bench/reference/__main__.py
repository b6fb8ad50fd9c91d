"""`python -m eqa_nodes.bench.reference`: the page of published numbers."""

from eqa_nodes.bench.reference.published import published_page

if __name__ == "__main__":
    print(published_page(), end="")
