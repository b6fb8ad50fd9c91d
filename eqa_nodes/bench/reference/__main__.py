"""`python -m eqa_nodes.bench.reference`: prints the page of published results."""

from eqa_nodes.bench.reference.published import published_page

if __name__ == "__main__":
    print(published_page(), end="")
