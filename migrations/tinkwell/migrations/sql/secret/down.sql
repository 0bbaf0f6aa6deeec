DROP TABLE sealed_value;
