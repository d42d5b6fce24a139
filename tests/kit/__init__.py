"""What the black-box tests share: frames on the wire, a broker process, a list of named checks."""
