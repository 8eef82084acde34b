from __future__ import annotations

import pytest

OFF = "OFF\n4 4 6\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 2 1\n3 0 1 3\n3 1 2 3\n3 2 0 3\n"


class TestOff:
    @pytest.mark.parametrize(
        "text",
        [
            OFF,
            OFF.replace("\n", "\r\n"),
            OFF.replace("\n", "\r"),
            OFF.replace("OFF\n", "OFF "),
            OFF.replace("OFF\n", "OFF"),  # ModelNet's
            OFF.replace("4 4 6", "4 4"),
            OFF.replace("OFF\n", "# made by hand\n\nOFF # yes\n# counts:\n\n"),
            "\ufeff" + OFF,
            OFF.replace("3 0 2 1", "3 0 2 1 255 0 0").replace("3 0 1 3", "3 0 1 3 0.5 0.5 0.5 1"),
            OFF.rstrip(),
            OFF.replace(" ", "\t"),
            OFF.replace("OFF", "NOFF").replace("0 0 0\n", "0 0 0 0 0 1\n").replace("1 0 0\n", "1 0 0 0 0 1\n")
            .replace("0 1 0\n", "0 1 0 0 0 1\n").replace("6\n0 0 0 0 0 1\n", "6\n0 0 0 0 0 1\n")
            .replace("0 0 1\n3", "0 0 1 0 0 1\n3"),
        ],
    )  # fmt: skip
    def test_forms(self, is_tetrahedron, read, text):
        assert is_tetrahedron(read(text))

    @pytest.mark.parametrize(
        ("word", "extra"), [("COFF", " 255 0 0 255"), ("COFF", " 1 0 .5"), ("STOFF", " 0 1"), ("CNOFF", " 0 0 1 9 9 9")]
    )
    def test_what_vertices_may_carry(self, is_tetrahedron, read, word, extra):
        lines = OFF.splitlines()
        lines[0] = word
        lines[2:6] = [line + extra for line in lines[2:6]]
        assert is_tetrahedron(read("\n".join(lines)))

    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            ("OFF\n", "OOF\n", "line 1: an OFF file begins with the word OFF"),
            ("OFF\n", "4OFF\n", "line 1: '4OFF' files are not supported"),
            ("OFF\n", "OFF BINARY\n", "line 1: 'OFF BINARY' files are not supported"),
            ("4 4 6", "4", "line 2: expected the numbers of vertices, faces and edges, got 1 words"),
            ("4 4 6", "4 x 6", "line 2: the number of faces is 'x', not a count"),
            ("4 4 6", "-4 4 6", "line 2: the number of vertices is '-4', not a count"),
            ("4 4 6", "4 4 -6", "line 2: the number of edges is '-6', not a count"),
            ("4 4 6", "4 5 6", "line 10: the file ends after 8 rows, the header says 4 vertices and 5 faces"),
            ("4 4 6", "4 3 6", "line 10: 1 row too many, the header says 4 vertices and 3 faces"),
            ("4 4 6", "900000000000000000 4 6", "the file ends after 8 rows"),
            ("4 4 6", "9999999999999999999 4 6", "not a count"),
            ("4 4 6", "5 3 6", "line 7: the vertex has 4 values, expected 3"),
            ("1 0 0\n", "1 0\n", "line 4: the vertex has 2 values, expected 3"),
            ("0 0 0\n", "0 0 0 1\n", "line 3: the vertex has 4 values, expected 3"),
            ("OFF\n", "COFF\n", "line 3: the vertex has 3 values, expected 6 or 7"),
            ("1 0 0\n", "1 0 zero\n", "line 4: 'zero' is not a number"),
            ("1 0 0\n", "1 0 1_0\n", "line 4: '1_0' is not a number"),
            ("1 0 0\n", "1 0 0x1\n", "line 4: '0x1' is not a number"),
            ("3 0 1 3", "3 0 1 a", "line 8: 'a' is not a whole number"),
            ("3 0 1 3", "3 0 1 1.0", "line 8: '1.0' is not a whole number"),
            ("3 0 1 3", "3 0 1 1_0", "line 8: '1_0' is not a whole number"),
            ("3 0 1 3", f"3 0 1 {10**30}", "line 8: '1000000000000000000000000000000' is not a whole number"),
            ("3 0 1 3", "3 0 1", "line 8: face 1 says it has 3 corners, and 2 values follow"),
            ("3 0 1 3", "3 0 1 3 9 9", "line 8: face 1 says it has 3 corners, and 5 values follow"),
            ("3 0 1 3", "-3 0 1 3", "line 8: face 1 says it has -3 corners"),
            ("3 0 1 3", "3 0 1 3 red", "line 8: 'red' is not a number"),
            ("3 0 1 3", "3 0 1 \x00", "line 8: '\\x00' is not a whole number"),
        ],
    )
    def test_defects(self, refused, old, new, message):
        assert message in refused(OFF.replace(old, new))

    def test_cut_short_anywhere(self, read):
        """No prefix of the file is read as if it were all of it, except where only the last number is shortened."""
        for length in range(1, len(OFF) - 1):
            with pytest.raises(ValueError, match=r"x\.off"):
                read(OFF[:length])

    def test_header_only(self, refused):
        assert "line 1: the file ends before the numbers of vertices and faces" in refused("OFF\n")
        assert "line 1: an OFF file begins" in refused("#\n# OFF\n")
