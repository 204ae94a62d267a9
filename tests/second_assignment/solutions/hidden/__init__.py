"""What hidden tests of the second assignment assert."""
