"""What the podman backend consists of: the service it talks to, the image, one container, all of them."""
