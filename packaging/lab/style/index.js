import './base.css';
import './terminal.css';
